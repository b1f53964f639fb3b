"""The threads that write all logs of a process.

One thread writes and syncs, one log after the other: what arrives while it syncs goes into the next
batch, so that batches are as large as the disk is slow, without any timer. While the disk is quick,
a driver may write by itself with `write_here`: waking a thread takes longer than such a sync.
Another thread prepares and removes segments. A failed write or sync is never tried again: the
system may have dropped what it could not write, and a second sync would then say that all is well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from secrets import randbits
from threading import Lock, Thread, get_ident
from time import perf_counter_ns
from typing import Final, TypeAlias

from penstock.guaranteed.sync_times import SyncTimes
from penstock.live.log.file_system import FileSystem, OsFileSystem
from penstock.live.log.housekeeper import Housekeeper
from penstock.live.log.quick_syncs import QuickSyncs
from penstock.live.log.segment import SegmentSizes
from penstock.live.log.tail import LogEvents

Job: TypeAlias = Callable[[], None]

RETRY_S: Final = 1.0


class LogWriter:
    """Shared by all logs; with `threads=False` nothing happens until `run_pending`.

    With `writes_here`, the thread that makes it calls `write_here` after it has appended.
    """

    def __init__(
        self,
        events: LogEvents,
        *,
        fs: FileSystem | None = None,
        threads: bool = True,
        writes_here: bool = False,
        quick_syncs: QuickSyncs | None = None,
        retry_s: float = RETRY_S,
        sizes: SegmentSizes | None = None,
        new_id: Callable[[], int] = lambda: randbits(64) or 1,
    ) -> None:
        self.fs: Final = OsFileSystem() if fs is None else fs
        self.events: Final = events
        self.sizes: Final = SegmentSizes() if sizes is None else sizes
        self.sync_times: Final = SyncTimes()
        self.has_failed = False
        self._retry_s: Final = retry_s
        self._writing: Final[SimpleQueue[Job | None]] = SimpleQueue()
        self._keeping: Final[SimpleQueue[Job | None]] = SimpleQueue()
        self._here: Final[deque[Job]] = deque()
        self._here_thread: Final = get_ident() if writes_here else None
        # Of syncs here; those of the thread wait for the interpreter too.
        self._quick_syncs: Final = quick_syncs or QuickSyncs()
        # Whoever runs a job of a log holds it.
        self._is_writing: Final = Lock()
        self.keep: Final = self._keeping.put
        self.housekeeper: Final = Housekeeper(self.fs, events, wake=self.wake, new_id=new_id)
        self._threads: Final[list[Thread]] = []
        if threads:
            self._threads.extend(
                (
                    Thread(target=self._write, name="penstock-log", daemon=True),
                    Thread(target=self._keep, name="penstock-log-segments", daemon=True),
                )
            )
            for thread in self._threads:
                thread.start()

    @property
    def has_threads(self) -> bool:
        """Whether jobs run by themselves."""
        return bool(self._threads)

    def wake(self, job: Job) -> None:
        """Has a job of a log done, in any order: by the thread, or by the next `write_here`."""
        if get_ident() == self._here_thread and self._quick_syncs.is_quick(
            now_ns=perf_counter_ns()
        ):
            self._here.append(job)
        else:
            self._writing.put(job)

    def write_here(self) -> None:
        """Does what was asked for in this thread, unless the other one is writing."""
        here = self._here
        while here:
            job = here.popleft()
            # The last one may have been slow: of many logs only one is tried.
            is_quick = self._quick_syncs.is_quick(now_ns=perf_counter_ns())
            if not is_quick or not self._is_writing.acquire(blocking=False):
                self._writing.put(job)
                continue
            try:
                self._run(job)
            finally:
                self._is_writing.release()
            self._quick_syncs.add(self.sync_times.last_ns, now_ns=perf_counter_ns())

    def run_pending(self) -> None:
        """Without threads: does all that was asked for, in this one."""
        while not self.has_failed:
            try:
                job = self._next(self._keeping) or self._next(self._writing)
                if job is None:
                    return
                job()
            except OSError as error:
                self._fail(error)

    def retry(self) -> None:
        """Looks at once whether a full disk has room again."""
        self.keep(self.housekeeper.retry)

    def close(self) -> None:
        """Ends both threads when they have done what they were asked for; logs go first."""
        self.write_here()
        self._writing.put(None)
        self._keeping.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        take = self._writing.get
        while (job := take()) is not None and not self.has_failed:
            with self._is_writing:
                self._run(job)

    def _run(self, job: Job) -> None:
        """Does a job of a log, unless one has failed; whoever calls it holds `_is_writing`."""
        if self.has_failed:
            return
        try:
            job()
        except BaseException as error:
            # Before the other thread can write: it would try again what has failed.
            self._fail(error)

    def _keep(self) -> None:
        try:
            while not self.has_failed:
                try:
                    is_retrying = self.housekeeper.is_retrying
                    job = self._keeping.get(timeout=self._retry_s if is_retrying else None)
                except Empty:
                    job = self.housekeeper.retry
                if job is None:
                    return
                job()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.has_failed:
            self.has_failed = True
            self.events.on_failed(error)

    @staticmethod
    def _next(queue: SimpleQueue[Job | None]) -> Job | None:
        return None if queue.empty() else queue.get()
