"""Who appends writes by itself while the disk is quick, and leaves it to the thread else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.kernel.instant import SECOND
from penstock.live.log.file_system import OsFileSystem
from penstock.live.log.log import PubendLog
from penstock.live.log.quick_syncs import QuickSyncs
from penstock.live.log.writer import LogWriter
from tests.live.log.logs import message
from tests.live.log.test_log import PATIENCE_S, Waiting

HOUR: Final = 3_600 * SECOND


class _Disk(OsFileSystem):
    """Remembers which thread wrote, and fails when it is told to."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.error: OSError | None = None

    def pwritev(self, fd: int, parts: Sequence[bytes], offset: int) -> int:
        self.threads.append(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        return os.pwritev(fd, parts, offset)


class _OneLog:
    """A log that is written by whoever appends, on a disk of its own."""

    def __init__(self, path: Path, upto: int, *, is_quick: bool = True) -> None:
        self.disk = _Disk()
        self.told = Waiting(upto)
        syncs = QuickSyncs(HOUR, try_again_ns=HOUR)
        if not is_quick:
            syncs.add(8 * HOUR, now_ns=time.perf_counter_ns())
        self.writer = LogWriter(
            self.told,
            fs=self.disk,
            writes_here=True,
            quick_syncs=syncs,
        )
        self.log = PubendLog("a", str(path / "a"), self.writer)
        self.log.open()
        # Until there is a segment every write is left to the thread that waits for it.
        self.next_number = 1
        self.append()
        deadline = time.monotonic() + PATIENCE_S
        while self.told.upto < 1:
            assert time.monotonic() < deadline
            self.writer.write_here()
            time.sleep(0.001)
        self.disk.threads.clear()

    def append(self) -> None:
        record = message(self.next_number)
        self.log.append(self.next_number, record, record.tick + 100)
        self.next_number += 1

    def close(self) -> None:
        self.log.close()
        self.writer.close()


def test_what_was_appended_before_is_synced_together_when_the_call_returns(tmp_path: Path) -> None:
    one = _OneLog(tmp_path, 4)
    for _ in range(3):
        one.append()
    assert one.told.upto == 1
    one.writer.write_here()
    assert one.told.upto == 4
    assert one.disk.threads == [threading.current_thread().name]
    one.close()


def test_a_slow_disk_keeps_nobody_waiting(tmp_path: Path) -> None:
    one = _OneLog(tmp_path, 3, is_quick=False)
    one.append()
    one.writer.write_here()
    one.append()
    one.writer.write_here()
    assert one.told.is_there.wait(PATIENCE_S)
    assert set(one.disk.threads) == {"penstock-log"}
    one.close()


def test_a_disk_that_fails_here_is_told_like_one_that_fails_there(tmp_path: Path) -> None:
    one = _OneLog(tmp_path, 2)
    one.disk.error = OSError(5, "Input/output error")
    one.append()
    one.writer.write_here()
    assert one.told.failed == [one.disk.error]
    one.append()
    one.writer.write_here()
    assert one.told.upto == 1
    one.close()


def test_what_was_appended_last_is_synced_by_closing(tmp_path: Path) -> None:
    one = _OneLog(tmp_path, 2)
    one.append()
    one.close()
    assert one.told.upto == 2


def test_nothing_is_written_behind_a_failure_by_a_thread_that_waited_for_its_end() -> None:
    told = Waiting(0)
    writer = LogWriter(told, writes_here=True, quick_syncs=QuickSyncs(HOUR))
    error = OSError(5, "Input/output error")
    written: list[str] = []

    def fail() -> None:
        asks = threading.Thread(target=lambda: writer.wake(lambda: written.append("behind")))
        asks.start()
        asks.join()
        deadline = time.monotonic() + PATIENCE_S
        while not writer._writing.empty():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        # The thread has taken the job, and waits for the end of this one.
        time.sleep(0.05)
        raise error

    writer.wake(fail)
    writer.write_here()
    writer.close()
    assert told.failed == [error]
    assert not written


def test_of_many_logs_one_is_tried_here_while_syncs_are_slow() -> None:
    syncs = QuickSyncs(try_again_ns=HOUR)
    syncs.add(8 * HOUR, now_ns=time.perf_counter_ns() - HOUR)
    writer = LogWriter(Waiting(0), writes_here=True, quick_syncs=syncs)
    threads: list[str] = []

    def write() -> None:
        threads.append(threading.current_thread().name)
        writer.sync_times.add(HOUR)

    for _ in range(5):
        writer.wake(write)
    writer.write_here()
    writer.close()
    here = threading.current_thread().name
    assert threads == [here, *["penstock-log"] * 4]
