"""Each sync is needed: the scenario that it saves fails without it.

Syncs are named by the function that makes them, so that a new one is noticed here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.log.lease_file import LeaseFile
from penstock.live.log.segment import SegmentSizes
from tests.live.log.fake_disk import CrashError, FakeDisk
from tests.live.log.logs import DIRECTORY, LogOnDisk, message

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


def lease_that_a_killed_process_left(disk: FakeDisk, *, forgets: bool) -> None:
    """It is told to be there, so that it must be on disk."""
    LogOnDisk(disk).log.close()
    lease_file = LeaseFile(disk, DIRECTORY)
    lease_file.write(1_000, 0)
    disk.crash_after_syncs = 0
    with suppress(CrashError):
        lease_file.write(2_000, 0)
    disk.crash_after_syncs = None
    with disk.forgetting("fdatasync", really=forgets):
        assert LogOnDisk(disk).recovered.lease == 2_000
    disk.crash_keeping(nothing)
    assert LogOnDisk(disk).recovered.lease == 2_000


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
    lease_that_a_killed_process_left,
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


# Each function that syncs, with what it calls.
SYNCS = {
    ("PubendLog.open", "sync_directory"),
    ("open_log", "sync_directory"),
    ("replace_file", "fdatasync"),
    ("replace_file", "sync_directory"),
    ("LeaseFile.__init__", "fdatasync"),
    ("LeaseFile.write", "write"),
    ("PreparedSegment.fill_piece", "write"),
    ("LogTail._flush", "write"),
    ("LogTail._roll", "sync_directory"),
    ("_Opening._built", "fdatasync"),
}
# These could be lost: they are synced because their files are opened so.
AIDS = {
    # Without a footer the next start reads the segment.
    ("LogTail._seal", "write"),
    # Zeros, which is also what is read when nothing is there.
    ("_opened", "write"),
}


@dataclass
class ForgetfulDisk(FakeDisk):
    """Leaves out the syncs of one function, and notes all that there are."""

    forgotten: tuple[str, str] | None = None
    seen: set[tuple[str, str]] = field(default_factory=set)

    def fdatasync(self, fd: int) -> None:
        with self._noted("fdatasync"):
            super().fdatasync(fd)

    def sync_directory(self, path: str) -> None:
        with self._noted("sync_directory"):
            super().sync_directory(path)

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        if fd not in self._synced:
            return super().pwrite(fd, data, offset)
        with self._noted("write"):
            return super().pwrite(fd, data, offset)

    @contextmanager
    def _noted(self, call: str) -> Iterator[None]:
        frame = sys._getframe()
        while "penstock/live/log/" not in frame.f_code.co_filename or frame.f_code.co_name in (
            "write_all",
            "write_parts",
        ):
            assert frame.f_back is not None
            frame = frame.f_back
        sync = (frame.f_code.co_qualname, call)
        self.seen.add(sync)
        kind = "fdatasync" if call == "write" else call
        with self.forgetting(kind, really=sync == self.forgotten):
            yield


def test_every_sync_is_known() -> None:
    seen: set[tuple[str, str]] = set()
    for scenario in SCENARIOS:
        disk = ForgetfulDisk()
        scenario(disk, forgets=False)
        seen |= disk.seen
    assert seen == SYNCS | AIDS


@pytest.mark.parametrize("sync", sorted(SYNCS), ids=" ".join)
def test_each_sync_is_needed_by_a_scenario(sync: tuple[str, str]) -> None:
    failed = []
    for scenario in SCENARIOS:
        try:
            scenario(ForgetfulDisk(forgotten=sync), forgets=False)
        except (AssertionError, UsageError):
            failed.append(scenario)
    assert failed


@pytest.mark.parametrize("sync", sorted(AIDS), ids=" ".join)
def test_an_aid_that_is_not_synced_loses_nothing(sync: tuple[str, str]) -> None:
    for scenario in SCENARIOS:
        scenario(ForgetfulDisk(forgotten=sync), forgets=False)


def test_a_kept_tail_is_taken_whole() -> None:
    """Written, never told to be synced, and survived: as good as any other record."""
    disk = FakeDisk()
    log = LogOnDisk(disk)
    log.append_synced(1)
    log.append()
    log.write_without_sync()
    disk.crash_keeping(everything)
    assert LogOnDisk(disk).everything().records == (message(1), message(2))
