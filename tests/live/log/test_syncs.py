"""Each sync is needed: the scenario that it saves fails without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.live.log.segment import SegmentSizes
from tests.live.log.fake_disk import FakeDisk
from tests.live.log.logs import LogOnDisk, message

LARGE = SegmentSizes(256 << 10, 256 << 10)


def nothing(_sectors: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """No sector survives."""
    return []


def everything(sectors: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """All sectors survive."""
    return sectors


def data_of_a_block(disk: FakeDisk, *, forgets: bool) -> None:
    log = LogOnDisk(disk)
    with disk.forgetting("fdatasync", really=forgets):
        log.append_synced(3)
    assert log.told.upto == 3
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.next_number == 4


def lease_of_an_idle_log(disk: FakeDisk, *, forgets: bool) -> None:
    log = LogOnDisk(disk)
    with disk.forgetting("fdatasync", really=forgets):
        log.log.append(0, None, 12_345)
        log.run()
    assert log.told.lease == 12_345
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.lease == 12_345


def name_of_a_new_segment(disk: FakeDisk, *, forgets: bool) -> None:
    log = LogOnDisk(disk)
    log.append_synced(3, size_bytes=1_000)
    assert log.told.rolled == 0
    with disk.forgetting("sync_directory", really=forgets):
        while log.told.rolled == 0:
            log.append_synced(1, size_bytes=1_000)
    synced = log.told.upto
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.next_number == synced + 1


def wipe_of_a_torn_tail(disk: FakeDisk, *, forgets: bool) -> None:
    """An old block right behind a new one must not be taken for its successor."""
    log = LogOnDisk(disk, sizes=LARGE)
    log.append_synced(1)
    log.append(size_bytes=40_000)
    log.append(size_bytes=40_000)
    log.write_without_sync()
    # Of two blocks in one batch the first is lost.
    disk.crash_keeping(lambda sectors: sectors[len(sectors) // 2 :])
    with disk.forgetting("fdatasync", really=forgets):
        log = LogOnDisk(disk, life=1, sizes=LARGE)
    assert log.recovered.next_number == 2
    log.append(size_bytes=40_000)
    log.write_without_sync()
    # The wipe is lost, the new block is not.
    disk.crash_keeping(lambda sectors: [s for s in sectors if any(s[1])])
    found = LogOnDisk(disk, life=2, sizes=LARGE)
    assert [r.body[:2] for r in found.everything().records] == [b"0:", b"1:"]
    assert found.recovered.next_number == 3


def records_that_a_killed_process_left(disk: FakeDisk, *, forgets: bool) -> None:
    """They are told to be there, so that they must be on disk."""
    log = LogOnDisk(disk)
    log.append_synced(1)
    log.append()
    log.write_without_sync()
    with disk.forgetting("fdatasync", really=forgets):
        assert LogOnDisk(disk).recovered.next_number == 3
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.next_number == 3


def name_of_the_metadata(disk: FakeDisk, *, forgets: bool) -> None:
    log = LogOnDisk(disk)
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=1_000)
    log.append_snapshot(b"state")
    log.run()
    with disk.forgetting("sync_directory", really=forgets):
        log.log.trim(log.next_number * 10)
        log.run()
    trimmed_upto = log.log.trimmed_upto
    assert trimmed_upto
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.trimmed_upto == trimmed_upto


SCENARIOS = [
    data_of_a_block,
    lease_of_an_idle_log,
    name_of_a_new_segment,
    name_of_the_metadata,
    records_that_a_killed_process_left,
    wipe_of_a_torn_tail,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_a_sync_saves(scenario: Callable[..., None]) -> None:
    scenario(FakeDisk(), forgets=False)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_without_its_sync_it_is_lost(scenario: Callable[..., None]) -> None:
    with pytest.raises(AssertionError):
        scenario(FakeDisk(), forgets=True)


def test_a_kept_tail_is_taken_whole() -> None:
    """Written, never told to be synced, and survived: as good as any other record."""
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(1)
    log.append()
    log.write_without_sync()
    disk.crash_keeping(everything)
    assert LogOnDisk(disk).everything().records == (message(1), message(2))
