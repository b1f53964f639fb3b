"""Disks without room, failing disks, short writes."""

from __future__ import annotations

from errno import EIO, ENOSPC

import pytest

from penstock.live.log.housekeeper import RESERVE_BYTES
from tests.live.log.fake_disk import FakeDisk
from tests.live.log.logs import DIRECTORY, LogOnDisk


def filled(disk: FakeDisk) -> LogOnDisk:
    """A log that waits for a segment; what it has synced can be read."""
    log = LogOnDisk(disk)
    # The one that is prepared can still be used.
    disk.room_bytes = RESERVE_BYTES
    while log.told.upto == log.next_number - 1:
        log.append_synced(1, size_bytes=900)
    return log


def test_a_disk_without_room_is_told_before_it_is_needed() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    disk.room_bytes = RESERVE_BYTES
    while log.told.full != [True]:
        log.append_synced(1, size_bytes=900)
        assert log.told.upto == log.next_number - 1, "there was room for all that was taken"


def test_reading_goes_on_and_writing_resumes_when_there_is_room() -> None:
    disk = FakeDisk()
    log = filled(disk)
    synced = log.told.upto
    assert len(log.everything().records) == synced
    # The lease is renewed all the same.
    log.log.append(log.next_number - 1, None, 10**6)
    log.run()
    assert (log.told.upto, log.told.lease) == (synced, 10**6)
    log.writer.retry()
    log.run()
    assert log.told.upto == synced
    disk.room_bytes += 1 << 20
    log.writer.retry()
    log.run()
    assert log.told.full == [True, False]
    assert log.told.upto == log.next_number - 1
    assert len(log.everything().records) == log.told.upto
    assert not log.told.failed


def test_trimming_makes_room() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 3:
        log.append_synced(1, size_bytes=900)
    log.append_snapshot(b"")
    log.run()
    disk.room_bytes = RESERVE_BYTES + 4096
    while log.told.upto == log.next_number - 1:
        log.append_synced(1, size_bytes=900)
    log.log.trim(10 * log.next_number)
    log.run()
    assert log.told.full[:2] == [True, False]
    assert log.told.upto == log.next_number - 1


def test_no_room_while_a_segment_is_filled_leaves_nothing_behind() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    names = disk.names("/logs/a")
    disk.errors["pwrite"] = OSError(ENOSPC, "no space left")
    log.writer.housekeeper.forget(log.log._tail)
    log.log._ask_for_segment()
    log.run()
    assert log.told.full == [True]
    assert disk.names("/logs/a") == [name for name in names if not name.endswith(".new")]


@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_failed_write_or_sync_ends_it_and_is_never_tried_again(call: str) -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(2)
    disk.errors[call] = OSError(EIO, "input/output error")
    log.append_synced(1)
    assert log.told.upto == 2
    assert [error.args[0] for error in log.told.failed] == [EIO]
    disk.errors.clear()
    calls = len(disk.calls)
    log.append_synced(1)
    assert len(disk.calls) == calls
    assert log.told.upto == 2


def test_short_writes_are_completed() -> None:
    disk = FakeDisk(write_bytes_max=700)
    log = LogOnDisk(disk)
    records = log.append_synced(20, size_bytes=1_000)
    disk.crash_keeping(lambda _sectors: [])
    assert list(LogOnDisk(disk).everything().records) == records


def test_a_segment_that_is_being_taken_into_use_is_left_alone() -> None:
    """The housekeeper may run between any two calls of the writer."""

    class Meddling(FakeDisk):
        def rename(self, source: str, target: str) -> None:
            if target.endswith(".log"):
                log.writer.housekeeper.prepare(log.log._tail, DIRECTORY)
                assert len([n for n in self.names(DIRECTORY) if n.endswith(".new")]) == 1
            super().rename(source, target)

    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(1)
    disk.__class__ = Meddling
    while log.told.rolled < 3:
        log.append_synced(1, size_bytes=900)
    assert not log.told.failed
    assert len(log.everything().records) == log.told.upto
    log.log.close()
    assert not [n for n in disk.names(DIRECTORY) if n.endswith(".new")]


def test_a_snapshot_larger_than_any_segment_gets_one_of_its_own() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_snapshot(bytes(100_000))
    log.run()
    log.append_synced(2)
    assert log.told.upto == 3
    log = LogOnDisk(disk)
    assert log.recovered.snapshot == bytes(100_000)
    assert len(log.recovered.since_snapshot) == 2
