"""A large log: how long it takes to start with it, to check it, and to read it in slices.

It is written without syncs, as fast as that goes, and is the same as any other then. For a cold
start the system is asked to forget what it has in memory of the files.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Final

from bench.guaranteed.log_alone import BODY, Confirmations, rate_of
from bench.result import Case, Note, Result
from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.kernel.errors import UsageError
from penstock.live.log.check import check_log
from penstock.live.log.file_system import OsFileSystem
from penstock.live.log.index import SegmentIndex
from penstock.live.log.log import PubendLog
from penstock.live.log.writer import LogWriter

GB: Final = 1 << 30
GB_VARIABLE: Final = "PENSTOCK_BENCH_LOG_GB"
_DEFAULT_GB: Final = 1
_BATCH: Final = 2_000
_FETCH_BYTES: Final = 256 << 10
_FETCHED_MAX: Final = 500_000
_START_GOAL_S: Final = 2
_CHECK_GOAL_MB: Final = 200
# As many as the last ids of publishers that a pubend keeps.
_SNAPSHOT: Final = bytes(20_000)


class _Unsynced(OsFileSystem):
    """Nobody waits for this log to be on disk."""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, synced: bool = False
    ) -> int:
        """See `FileSystem`."""
        del synced
        return super().open(path, write=write, create=create)

    def fdatasync(self, fd: int) -> None:
        """See `FileSystem`."""


class _Rolls(Confirmations):
    """Counts segments: each begins with a snapshot, as a pubend's does."""

    def __init__(self) -> None:
        super().__init__()
        self.segments = 0

    def on_rolled(self, log: str) -> None:
        """A segment has begun."""
        del log
        self.segments += 1


def chosen_gb() -> float:
    """How large the log is."""
    setting = os.environ.get(GB_VARIABLE)
    if setting is None:
        return _DEFAULT_GB
    try:
        size = float(setting)
    except ValueError:
        size = 0
    if not 0 < size <= 1_000:
        raise UsageError(f"{GB_VARIABLE} is a number of GB up to 1000 as 10, not {setting!r}")
    return size


def measure(
    *, directory: str | None = None, size_gb: float | None = None, note: Note = lambda _: None
) -> Result:
    """Seconds to start; `directory` chooses the disk."""
    size_gb = chosen_gb() if size_gb is None else size_gb
    size_bytes = int(size_gb * GB)
    with TemporaryDirectory(dir=directory) as place:
        free_bytes = disk_usage(place).free
        if free_bytes < 1.2 * size_bytes:
            line = (
                f"a log of {size_gb:g} GB was left out, the disk has {free_bytes / GB:.1f} GB: "
                f"set {GB_VARIABLE} to less, or TMPDIR to another disk"
            )
            return Result("log_large", [], notes=[line])
        path = f"{place}/log"
        note(f"writing a log of {size_gb:g} GB")
        _write(path, size_bytes)
        note("starting with it")
        _forget_pages(Path(path))
        cold_s, _, _ = _start(path)
        warm_s, cpu_s, index_bytes = _start(path)
        name = f"log of {size_gb:g} GB"
        cases = [
            Case(f"{name}, cold", "start", cold_s, "s", f"<= {_START_GOAL_S}"),
            Case(f"{name}, in memory", "start", warm_s, "s", f"<= {_START_GOAL_S}"),
            Case(f"{name}, in memory", "CPU of a start", cpu_s, "s"),
            Case(name, "index in memory", index_bytes / size_gb / 1e6, "MB/GB"),
        ]
        note("reading it")
        cases.append(_fetch_case(name, path))
        note("checking it")
        _forget_pages(Path(path))
        cases.append(_check_case(name, path))
    return Result("log_large", cases)


def _write(path: str, size_bytes: int) -> None:
    told = _Rolls()
    writer = LogWriter(told, fs=_Unsynced())
    log = PubendLog("bench", path, writer)
    log.open()
    number = snapshots = 0
    while log.size_bytes < size_bytes:
        while snapshots < told.segments:
            snapshots, number = snapshots + 1, number + 1
            log.append(number, LogSnapshot(_SNAPSHOT), number << 20)
        records = [
            LogRecord(n << 20, n, "publisher", n, BODY)
            for n in range(number + 1, number + 1 + _BATCH)
        ]
        number += _BATCH
        log.append_many(number, records, number << 20)
        while told.upto.get() < number:
            pass
    log.close()
    writer.close()


def _forget_pages(directory: Path) -> None:
    """What is written is brought to disk, then dropped from memory where the system can."""
    with suppress(AttributeError):
        for path in directory.iterdir():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def _start(path: str) -> tuple[float, float, int]:
    """Seconds, those of the CPU, and bytes of the index."""
    writer = LogWriter(Confirmations())
    log = PubendLog("bench", path, writer)
    start, cpu_start = perf_counter(), thread_time()
    recovered = log.open()
    spent_s, cpu_s = perf_counter() - start, thread_time() - cpu_start
    assert not recovered.damaged
    assert recovered.snapshot is not None or len(recovered.segments) == 1
    entries = log.index_entries
    log.close()
    writer.close()
    assert array("Q").itemsize * 4 == SegmentIndex.ENTRY_BYTES
    return spent_s, cpu_s, entries * SegmentIndex.ENTRY_BYTES


def _fetch_case(name: str, path: str) -> Case:
    """Reading the beginning of a log in slices, as a subscriber that was away does; from memory."""
    writer = LogWriter(Confirmations())
    log = PubendLog("bench", path, writer)
    stop = log.open().last_tick + 1

    def read() -> int:
        start = count = 0
        while start < stop and count < _FETCHED_MAX:
            fetched = log.fetch(start, stop, _FETCH_BYTES)
            start, count = fetched.stop, count + len(fetched.records)
        return count

    rate = rate_of(read, read())
    log.close()
    writer.close()
    return Case(f"{name}, in slices of 256 KB", "messages read", rate, "1/s")


def _check_case(name: str, path: str) -> Case:
    """From disk, as far as it can be."""
    sizes_bytes: list[int] = []

    def check(call: Callable[[int, int], None]) -> None:
        assert check_log(path, on_progress=call).is_sound

    rate = rate_of(lambda: check(lambda read_bytes, _: sizes_bytes.append(read_bytes)), 1)
    return Case(
        f"{name}, cold", "check", rate * sizes_bytes[-1] / 1e6, "MB/s", f">= {_CHECK_GOAL_MB}"
    )
