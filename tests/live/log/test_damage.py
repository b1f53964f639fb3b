"""Damage is a gap and never a cut tail; blocks of other segments are never taken."""

from __future__ import annotations

from random import Random

import pytest

from penstock.guaranteed.log_record import LogGap
from penstock.kernel.errors import UsageError
from penstock.live.log.block import Block, block_at, block_bytes, block_parts, encode_entries
from penstock.live.log.check import check_log
from penstock.live.log.segment import SegmentSizes, decoded_header
from penstock.wire.frames.guaranteed.base import GapReason
from tests.live.log.fake_disk import FakeDisk
from tests.live.log.logs import DIRECTORY, LEASE_AHEAD, LogOnDisk, message, segment_paths


def flip(disk: FakeDisk, path: str, offset: int) -> None:
    disk.overwrite(path, offset, bytes([disk.contents(path)[offset] ^ 0x40]))


def numbers(log: LogOnDisk) -> list[int]:
    return [record.publication for record in log.everything().records]


def test_a_bad_block_with_synced_ones_behind_it_is_a_gap() -> None:
    disk = FakeDisk()
    LogOnDisk(disk).append_synced(5)
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 3 + 100)
    log = LogOnDisk(disk)
    gap = LogGap(21, 40, GapReason.DAMAGED, 1)
    assert log.recovered.damaged == (gap,)
    assert log.recovered.next_number == 6
    assert numbers(log) == [1, 2, 4, 5]
    assert log.everything().gaps == (gap,)
    assert log.log.fetch(25, 35, 1 << 20).gaps == (LogGap(25, 40, GapReason.DAMAGED, 1),)
    assert log.log.fetch(40, 60, 1 << 20).gaps == ()
    # It stays one, whatever is written behind it.
    log.append_synced(2)
    again = LogOnDisk(disk)
    assert again.recovered.damaged == (gap,)
    assert numbers(again) == [1, 2, 4, 5, 6, 7]


def test_a_bad_block_in_a_full_segment_is_found_by_who_reads_it() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    flip(disk, segment_paths(disk)[0], 512 + 2 * 1024 + 500)
    log = LogOnDisk(disk)
    assert log.recovered.damaged == ()
    fetched = log.everything()
    assert fetched.gaps == (LogGap(21, 40, GapReason.DAMAGED, 1),)
    assert [r.publication for r in fetched.records[:3]] == [1, 2, 4]


def test_damage_at_the_end_of_a_full_segment_ends_where_the_next_begins() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 1:
        log.append_synced(1, size_bytes=900)
    first_of_next = log.told.upto
    flip(disk, segment_paths(disk)[0], 512 + 1024 * (first_of_next - 2) + 500)
    # The footer too, so that opening reads the segment.
    flip(disk, segment_paths(disk)[0], (8 << 10) - 20)
    lost = (first_of_next - 1) * 10
    gap = LogGap(lost - 9, lost + 10, GapReason.DAMAGED, 1)
    log = LogOnDisk(disk)
    assert log.recovered.damaged == (gap,)
    assert log.everything().gaps == (gap,)


def test_a_bad_last_block_is_betrayed_by_the_lease_of_an_idle_log() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(3)
    log.log.append(3, None, 500)
    log.run()
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 3 + 90)
    before = disk.contents(path)
    log = LogOnDisk(disk)
    gap = LogGap(21, 501, GapReason.DAMAGED, 1)
    assert log.recovered.damaged == (gap,)
    assert log.recovered.next_number == 4
    assert log.everything().gaps == (gap,)
    log.next_number = 4
    record = message(4)
    log.log.append(4, type(record)(510, 1, "p", 4, b"later"), 600)
    log.run()
    assert disk.contents(path) == before, "damaged bytes are left for whoever can mend them"
    log = LogOnDisk(disk)
    assert numbers(log) == [1, 2, 4]
    # Now its end is known.
    assert log.everything().gaps == (LogGap(21, 510, GapReason.DAMAGED, 1),)


@pytest.mark.parametrize("is_only_one", [False, True])
def test_a_missing_last_segment_is_a_gap(is_only_one: bool) -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while not is_only_one and log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    log.append_synced(3)
    log.log.close()
    *kept, last = segment_paths(disk)
    first_lost, lease = int(last[-24:-4]), log.told.lease
    disk.unlink(last)
    assert len(check_log(DIRECTORY, fs=disk).damage) == 1
    lost = LogGap(10 * first_lost - 9, lease + 1, GapReason.DAMAGED, log.next_number - first_lost)
    # It stays one, whatever happens then.
    for _ in range(2):
        found = LogOnDisk(disk)
        assert found.recovered.damaged == (lost,)
        assert (found.recovered.next_number, found.recovered.lease) == (log.next_number, lease)
        assert numbers(found) == [*range(1, first_lost)]
        assert found.everything().gaps == (lost,)
        found.log.close()
    found = LogOnDisk(disk)
    found.log.append(log.next_number, message(lease), 20 * lease)
    found.run()
    found.append_snapshot(b"")
    for _ in range(2):
        assert numbers(found) == [*range(1, first_lost), lease]
        (gap,) = found.everything().gaps
        assert (gap.start, gap.messages, gap.reason) == (lost.start, lost.messages, lost.reason)
        assert gap.start <= lease < gap.stop <= message(lease).tick
        found = LogOnDisk(disk)
    # And goes with the oldest segments.
    found.next_number = found.recovered.next_number
    for _ in range(40):
        found.append_snapshot(bytes(900))
        found.run()
    found.log.trim(message(lease).tick)
    found.run()
    assert not found.told.failed
    assert found.log.trimmed_upto >= lease
    assert not set(kept) & {*segment_paths(disk)}


def test_a_bad_last_block_that_nothing_betrays_is_a_torn_tail() -> None:
    disk = FakeDisk()
    LogOnDisk(disk).append_synced(3)
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 3 + 90)
    log = LogOnDisk(disk)
    assert log.recovered.damaged == ()
    assert log.recovered.next_number == 3
    assert not any(disk.contents(path)[512 * 3 :])


def test_a_torn_batch_behind_damage_is_cut_and_the_damage_is_not() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk, sizes=SegmentSizes(256 << 10, 256 << 10))
    log.append_synced(3)
    for _ in range(2):
        log.append(size_bytes=40_000)
    log.write_without_sync()
    # The first of its two blocks is lost; the second one betrays that the one before was synced.
    disk.crash_keeping(lambda sectors: sectors[len(sectors) // 2 :])
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 3 + 90)
    gap_stop = 5 * 10 + LEASE_AHEAD + 1
    for _ in range(2):
        log = LogOnDisk(disk)
        assert log.recovered.next_number == 4
        # Of the block that was cut: that of the damaged one, which was told, is not above it.
        assert log.recovered.lease == gap_stop - 1
        assert numbers(log) == [1, 2]
        assert log.everything().gaps == (LogGap(21, gap_stop, GapReason.DAMAGED, 1),)


def test_a_bad_last_block_before_an_empty_segment_does_not_take_the_lease_with_it() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 1:
        lease = log.told.lease
        log.append(size_bytes=900)
        log.run()
    first, second = segment_paths(disk)
    synced = int(second[-24:-4]) - 1
    flip(disk, first, 512 + 1024 * (synced - 1) + 500)
    flip(disk, first, (8 << 10) - 20)
    disk.overwrite(second, 512, bytes(1024))
    log = LogOnDisk(disk)
    assert log.recovered.next_number == synced + 1
    assert log.recovered.lease == lease
    assert log.everything().gaps == (LogGap(synced * 10 - 9, lease + 1, GapReason.DAMAGED, 1),)


def test_damage_while_nobody_has_the_log_open_is_no_torn_tail() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(3)
    log.log.close()
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 3 + 90)
    log = LogOnDisk(disk)
    assert log.recovered.next_number == 4
    assert [gap.messages for gap in log.everything().gaps] == [1]


def test_a_missing_segment_is_a_gap() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    first, second, third = segment_paths(disk)
    lost = range(int(second[-24:-4]), int(third[-24:-4]))
    disk.unlink(second)
    log = LogOnDisk(disk)
    gap = LogGap((lost[0] - 1) * 10 + 1, lost[-1] * 10 + 10, GapReason.DAMAGED, len(lost))
    assert log.recovered.damaged == (gap,)
    assert log.everything().gaps == (gap,)
    assert numbers(log) == [n for n in range(1, log.next_number) if n not in lost]
    assert first in segment_paths(disk)


def test_segments_that_someone_removed_from_the_beginning_count_as_trimmed() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    first, second, _ = segment_paths(disk)
    disk.unlink(first)
    kept = int(second[-24:-4])
    log = LogOnDisk(disk)
    assert log.recovered.trimmed_upto == kept * 10 - 1
    gap = LogGap(0, kept * 10, GapReason.RETENTION, kept - 1)
    assert log.everything().gaps == (gap,)


def test_a_block_of_an_older_file_is_not_taken() -> None:
    disk = FakeDisk()
    LogOnDisk(disk).append_synced(2)
    (path,) = segment_paths(disk)
    records = encode_entries([message(3, life=9)])
    old = Block(block_bytes(len(records[0])), 0x1234_5678, 3, 2, 1_000, 2, 30, 30, 0, 1, 0)
    disk.overwrite(path, 512 * 3, b"".join(block_parts(old, records)))
    log = LogOnDisk(disk)
    assert log.recovered.next_number == 3
    assert not any(disk.contents(path)[512 * 3 :])
    log.append_synced(1)
    assert numbers(LogOnDisk(disk)) == [1, 2, 3]


def test_a_damaged_header_hides_nothing() -> None:
    disk = FakeDisk()
    LogOnDisk(disk).append_synced(3)
    (path,) = segment_paths(disk)
    flip(disk, path, 20)
    log = LogOnDisk(disk)
    assert numbers(log) == [1, 2, 3]
    log.append_synced(1)
    assert numbers(LogOnDisk(disk)) == [1, 2, 3, 4]


def test_a_damaged_snapshot_gives_way_to_the_one_before() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    for state in (b"first", b"second"):
        log.append_snapshot(state)
        log.run()
        log.append_synced(2)
    (path,) = segment_paths(disk)
    flip(disk, path, 512 * 4 + 90)
    log = LogOnDisk(disk)
    assert log.recovered.snapshot == b"first"
    assert [r.publication for r in log.recovered.since_snapshot] == [2, 3, 5, 6]
    # No message is lost with it.
    assert log.recovered.damaged == ()
    assert log.everything().gaps == ()


@pytest.mark.parametrize("version", [0, 2])
def test_another_format_is_refused_in_one_line(version: int) -> None:
    disk = FakeDisk()
    LogOnDisk(disk)
    disk.files[f"{DIRECTORY}/log.json"].seen[:] = b'{"format":%d,"new":[]}' % version
    with pytest.raises(UsageError, match=f"log format {version}, this release reads 1: ") as caught:
        LogOnDisk(disk)
    assert "\n" not in str(caught.value)


def test_damaged_metadata_say_what_to_do() -> None:
    disk = FakeDisk()
    LogOnDisk(disk)
    disk.files[f"{DIRECTORY}/log.json"].seen[:] = b"{"
    with pytest.raises(UsageError, match=r"log\.json is damaged: remove it"):
        LogOnDisk(disk)


def test_a_check_names_what_is_damaged_and_what_is_torn() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 1:
        log.append_synced(1, size_bytes=900)
    log.append_synced(1)
    sound = check_log(DIRECTORY, fs=disk)
    assert sound.is_sound
    assert sound.messages == log.told.upto
    assert (sound.segments, sound.torn_bytes) == (2, 0)
    log.append(size_bytes=1_500)
    log.write_without_sync()
    disk.crash_keeping(lambda sectors: sectors[1:])
    flip(disk, segment_paths(disk)[0], 512 + 1024 + 500)
    report = check_log(DIRECTORY, fs=disk)
    assert report.torn_bytes > 0
    (found,) = report.damage
    assert (found.tick_before, found.tick_behind, found.messages) == (10, 30, 1)
    assert ": at most 1 message behind 10" in found.in_words(str)
    assert report.lines(str)[-1].startswith("damaged")


def test_a_check_goes_on_behind_what_the_disk_cannot_read() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk, sizes=SegmentSizes(256 << 10, 256 << 10))
    log.append_synced(30, size_bytes=900)
    (path,) = segment_paths(disk)
    disk.files[path].unreadable.add(9_000)
    seen: list[tuple[int, int]] = []
    report = check_log(
        DIRECTORY, fs=disk, on_progress=lambda read, there: seen.append((read, there))
    )
    (found,) = report.damage
    assert found.messages is not None
    assert report.messages + found.messages == 30
    assert found.messages <= 5
    assert seen == [(256 << 10, 256 << 10)]


def damaged_log(seed: int) -> None:
    """Any blocks of a log are damaged: each message is there or in a gap, and gaps are not wide."""
    random = Random(seed)
    disk = FakeDisk()
    log = LogOnDisk(disk, sizes=SegmentSizes(8 << 10, 16 << 10))
    for _ in range(random.randrange(5, 25)):
        for _ in range(random.randrange(1, 4)):
            log.append(size_bytes=random.choice((5, 300, 1_500)))
        log.run()
    log.log.append(log.next_number - 1, None, log.next_number * 10)
    log.run()
    last = log.next_number - 1
    log.log.close()
    lost: set[int] = set()
    for path in segment_paths(disk):
        data = disk.contents(path)
        segment_id = decoded_header(data, path)
        assert segment_id is not None
        for offset in range(512, len(data), 512):
            block = block_at(data, offset, segment_id)
            if block is not None and random.random() < 0.2:
                flip(disk, path, offset + random.randrange(4, block.length_bytes))
                lost.update(range(block.first_number, block.stop_number))
        if random.random() < 0.3:
            flip(disk, path, len(data) - random.randrange(1, 100))
    for _ in range(2):
        log = LogOnDisk(disk)
        assert log.recovered.next_number == last + 1
        fetched = log.everything()
        assert {r.publication for r in fetched.records} == set(range(1, last + 1)) - lost
        covered = [n for n in lost if any(g.start <= n * 10 < g.stop for g in fetched.gaps)]
        assert set(covered) == lost
        assert sum(g.messages for g in fetched.gaps) == len(lost)
        for record in fetched.records:
            assert not any(g.start <= record.tick < g.stop for g in fetched.gaps)
        log.log.close()


@pytest.mark.parametrize("seed", range(10))
def test_what_is_damaged_is_covered_by_gaps(seed: int) -> None:
    damaged_log(seed)


@pytest.mark.soak
def test_thousands_of_damaged_logs() -> None:
    for seed in range(2_000):
        damaged_log(seed)
