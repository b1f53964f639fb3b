"""Cuts of power at any moment: what was told to be synced is there, and nothing that was not said.

The oracle is a list: records by number, of which a crash may take only those never told of.
"""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.live.log import tail
from tests.live.log.fake_disk import CrashError, FakeDisk
from tests.live.log.logs import DIRECTORY, LogOnDisk


class Model:
    """What a log may hold after all that was done to it."""

    def __init__(self) -> None:
        self.entries: list[LogRecord | LogSnapshot] = []
        self.synced_upto = 0
        self.lease = 0

    @property
    def next_number(self) -> int:
        return len(self.entries) + 1

    def check(self, log: LogOnDisk) -> None:
        """Compares a log that has just been opened, and forgets what it has lost."""
        found = log.recovered
        assert found.next_number > self.synced_upto, "a synced record is gone"
        assert found.next_number <= self.next_number, "a record that nobody appended"
        assert found.lease >= self.lease, "the lease has moved back"
        assert not found.damaged
        del self.entries[found.next_number - 1 :]
        self.synced_upto = found.next_number - 1
        self.lease = found.lease
        self.check_contents(log)
        self.check_snapshot(log)

    def check_contents(self, log: LogOnDisk) -> None:
        trimmed_upto = log.log.trimmed_upto
        messages = [e for e in self.entries[: self.synced_upto] if isinstance(e, LogRecord)]
        fetched = log.everything()
        assert list(fetched.records) == [m for m in messages if m.tick > trimmed_upto]
        assert bool(fetched.gaps) == (trimmed_upto > 0)
        for gap in fetched.gaps:
            assert (gap.start, gap.stop) == (0, trimmed_upto + 1)
            assert gap.messages == sum(m.tick <= trimmed_upto for m in messages)
        kept = [m.tick for m in messages if m.tick > trimmed_upto]
        assert log.log.first_tick == (kept[0] if kept else None)
        for after, upto in zip(kept[:2], kept[-3:], strict=False):
            assert log.log.count(after, upto) == sum(after < tick <= upto for tick in kept)

    def check_snapshot(self, log: LogOnDisk) -> None:
        places = [n for n, e in enumerate(self.entries) if isinstance(e, LogSnapshot)]
        behind = self.entries[places[-1] :] if places else self.entries
        found = log.recovered
        last = self.entries[places[-1]] if places else None
        assert found.snapshot == (last.state if isinstance(last, LogSnapshot) else None)
        messages = [e for e in behind if isinstance(e, LogRecord)]
        assert [(r.tick, r.publisher, r.publication) for r in found.since_snapshot] == [
            (r.tick, r.publisher, r.publication) for r in messages
        ]


def run_lives(seed: int, *, lives: int = 4, steps: int = 30) -> None:
    """Lives of one log, each ended by a cut of power, a kill, or properly."""
    random = Random(seed)
    # Of small blocks there are several in a batch.
    with patch.object(tail, "BLOCK_BYTES_MAX", random.choice((600, 600, 3_000, 64 << 10))):
        _run_lives(random, lives, steps)


def _run_lives(random: Random, lives: int, steps: int) -> None:
    disk, model = FakeDisk(), Model()
    # Blocks of one size: an old one may lie right behind a new one.
    sizes_bytes = random.choice(((400,), (5, 60, 400, 2_000)))
    for life in range(lives):
        log = None
        try:
            kind = random.randrange(4)
            if kind == 0:
                disk.crash_after = random.randrange(40) * random.randrange(1, 8)
            elif kind < 3:
                disk.crash_after_syncs = random.randrange(15)
            log = LogOnDisk(disk, life=life)
            model.check(log)
            for _ in range(random.randrange(steps)):
                step(log, model, random, sizes_bytes)
        except CrashError:
            if log is not None:
                model.synced_upto = max(model.synced_upto, log.told.upto)
                model.lease = max(model.lease, log.told.lease)
            disk.crash(random)
        else:
            ending = random.randrange(3)
            if ending == 0:
                disk.crash_after = disk.crash_after_syncs = None
                log.log.close()
                learn(log, model)
            if ending != 1:
                # Else killed: what is written is still in memory.
                disk.crash(random)
        disk.crash_after = disk.crash_after_syncs = None
    model.check(LogOnDisk(disk, life=lives))


def step(log: LogOnDisk, model: Model, random: Random, sizes_bytes: tuple[int, ...]) -> None:
    kind = random.randrange(10)
    if kind < 5:
        for _ in range(random.randrange(1, 12)):
            model.entries.append(log.append(size_bytes=random.choice(sizes_bytes)))
    elif kind == 5:
        state = random.randbytes(random.choice((3, 900, 20_000)))
        log.append_snapshot(state)
        model.entries.append(LogSnapshot(state))
    elif kind == 6:
        log.log.append(log.next_number - 1, None, log.next_number * 10 + random.randrange(1_000))
    elif kind == 7:
        log.log.trim(random.randrange(1, 10 * log.next_number + 1))
    else:
        log.run()
        learn(log, model)
        model.check_contents(log)


def learn(log: LogOnDisk, model: Model) -> None:
    assert not log.told.failed
    model.synced_upto, model.lease = log.told.upto, max(model.lease, log.told.lease)


@given(st.integers(0, 2**32))
def test_what_was_synced_survives_and_nothing_else_appears(seed: int) -> None:
    run_lives(seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(0, 4_000, 500))
def test_thousands_of_torn_and_reordered_logs(start: int) -> None:
    for seed in range(start, start + 500):
        run_lives(seed)


def test_a_log_of_the_fake_disk_is_in_its_directory() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(3)
    assert "00000000000000000001.log" in disk.names(DIRECTORY)
