"""Cuts of power and damage in one log, in any order: what is synced is there, or in a gap.

The oracle is a list of all records, and the numbers of those whose blocks were damaged. Damage is
done only where something betrays it: a later block, a later segment, or the lease of an idle log.
"""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.live.log import tail
from penstock.live.log.block import Block, block_at
from penstock.live.log.check import check_log
from penstock.live.log.lease_file import read_synced_upto
from penstock.live.log.segment import decoded_header
from penstock.wire.frames.guaranteed.base import GapReason
from tests.live.log.fake_disk import CrashError, FakeDisk
from tests.live.log.logs import DIRECTORY, LogOnDisk, segment_paths


class DamagedModel:
    """What a log holds, and what of it may be missing."""

    def __init__(self) -> None:
        self.entries: list[LogRecord | LogSnapshot] = []
        self.synced_upto = 0
        self.lease = 0
        self.damaged: set[int] = set()

    def append(self, log: LogOnDisk, random: Random) -> None:
        """As a pubend does: ticks rise, and those of a new life are above the lease."""
        number = len(self.entries) + 1
        last_tick = max((e.tick for e in self.entries if isinstance(e, LogRecord)), default=0)
        tick = max(last_tick, log.recovered.lease) + random.randrange(1, 20)
        entry: LogRecord | LogSnapshot
        if random.random() < 0.05:
            entry = LogSnapshot(random.randbytes(random.choice((3, 900, 9_000))))
        else:
            body = random.randbytes(random.choice((5, 60, 400, 2_000)))
            entry = LogRecord(tick, number, f"p{number % 3}", number, body)
        self.entries.append(entry)
        log.log.append(number, entry, tick + random.randrange(100))

    def learn(self, log: LogOnDisk) -> None:
        """What the log has told is a promise."""
        assert not log.told.failed
        self.synced_upto = max(self.synced_upto, log.told.upto)
        self.lease = max(self.lease, log.told.lease)

    def check(self, log: LogOnDisk) -> None:
        """Compares a log that has just been opened, and forgets what it has lost."""
        found = log.recovered
        assert found.next_number > self.synced_upto, "a synced record was cut off"
        assert found.next_number > max(self.damaged, default=0), "damage was cut off"
        assert found.next_number <= len(self.entries) + 1, "a record that nobody appended"
        assert found.lease >= self.lease, "the lease has moved back"
        del self.entries[found.next_number - 1 :]
        self.synced_upto, self.lease = len(self.entries), found.lease
        fetched = log.everything()
        gaps = [gap for gap in fetched.gaps if gap.reason is GapReason.DAMAGED]
        assert len(gaps) == len(fetched.gaps)
        expected = {
            number: entry
            for number, entry in enumerate(self.entries, 1)
            if isinstance(entry, LogRecord)
        }
        there = [entry for number, entry in expected.items() if number not in self.damaged]
        assert list(fetched.records) == there
        lost = [entry for number, entry in expected.items() if number in self.damaged]
        for record in lost:
            assert any(gap.start <= record.tick < gap.stop for gap in gaps), "lost in silence"
        for record in there:
            assert not any(gap.start <= record.tick < gap.stop for gap in gaps)
        assert sum(gap.messages for gap in gaps) >= len(lost)


def damage(disk: FakeDisk, model: DamagedModel, random: Random) -> None:
    """Changes bytes of blocks, of headers and of footers."""
    paths = segment_paths(disk)
    idle_upto = read_synced_upto(disk, DIRECTORY)
    for path in paths:
        data = disk.contents(path)
        segment_id = decoded_header(data, path)
        if segment_id is None:
            continue
        blocks = blocks_of(data, segment_id)
        chosen = {offset for offset in blocks if random.random() < 0.15}
        for offset in sorted(chosen, reverse=True):
            last = blocks[offset].stop_number - 1
            later = [b for o, b in blocks.items() if o > offset and o not in chosen]
            is_betrayed = path != paths[-1] or idle_upto >= last
            if is_betrayed or any(block.synced_upto >= last for block in later):
                flip(disk, path, offset + random.randrange(4, blocks[offset].length_bytes))
                model.damaged.update(range(blocks[offset].first_number, last + 1))
            else:
                chosen.remove(offset)
        if random.random() < 0.1 and len(chosen) < len(blocks):
            flip(disk, path, random.randrange(24))
        if random.random() < 0.2:
            flip(disk, path, len(data) - random.randrange(1, 100))


def blocks_of(data: bytes, segment_id: int) -> dict[int, Block]:
    """Whole blocks by their places."""
    found = ((offset, block_at(data, offset, segment_id)) for offset in range(512, len(data), 512))
    return {offset: block for offset, block in found if block is not None}


def flip(disk: FakeDisk, path: str, offset: int) -> None:
    disk.overwrite(path, offset, bytes([disk.contents(path)[offset] ^ 0x40]))


def run_lives(seed: int, *, lives: int = 4) -> None:
    """Lives of one log, each ended by a cut of power, a kill, or properly; then damage."""
    random = Random(seed)
    with patch.object(tail, "BLOCK_BYTES_MAX", random.choice((600, 3_000, 64 << 10))):
        _run_lives(random, lives)


def _run_lives(random: Random, lives: int) -> None:
    disk, model = FakeDisk(), DamagedModel()
    disk.write_bytes_max = random.choice((None, None, 700, 5_000))
    for life in range(lives):
        log = None
        try:
            if random.random() < 0.6:
                disk.crash_after_syncs = random.randrange(40)
            log = LogOnDisk(disk, life=life)
            model.check(log)
            for _ in range(random.randrange(15)):
                for _ in range(random.randrange(1, 8)):
                    model.append(log, random)
                if random.random() < 0.3:
                    log.log.append(len(model.entries), None, model.lease + 1)
                log.run()
                model.learn(log)
        except CrashError:
            if log is not None:
                model.learn(log)
            disk.crash(random)
        else:
            disk.crash_after_syncs = None
            ending = random.randrange(3)
            if ending == 0:
                log.log.close()
            if ending < 2:
                disk.crash(random)
        disk.crash_after_syncs = None
        if random.random() < 0.6:
            damage(disk, model, random)
    is_damaged = bool(model.damaged)
    if segment_paths(disk):
        report = check_log(DIRECTORY, fs=disk)
        assert report.is_sound or is_damaged
    model.check(LogOnDisk(disk, life=lives))


# Found that a torn batch behind damage was taken for damage, and a lease that damage took.
@pytest.mark.parametrize("seed", [567, 1423])
def test_what_these_found_stays_found(seed: int) -> None:
    run_lives(seed)


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_what_is_synced_is_there_or_in_a_gap(start: int) -> None:
    for seed in range(start, start + 50):
        run_lives(seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(1_000, 5_000, 1_000))
def test_thousands_of_torn_and_damaged_logs(start: int) -> None:
    for seed in range(start, start + 1_000):
        run_lives(seed)
