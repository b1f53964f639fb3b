"""The threads that write all logs of a process.

One thread writes and syncs, one log after the other: what arrives while it syncs goes into the next
batch, so that batches are as large as the disk is slow, without any timer. Another thread prepares
and removes segments. A failed write or sync is never tried again: the system may have dropped what
it could not write, and a second sync would then say that all is well.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from secrets import randbits
from threading import Thread
from typing import Final, TypeAlias

from penstock.guaranteed.sync_times import SyncTimes
from penstock.live.log.file_system import FileSystem, OsFileSystem
from penstock.live.log.housekeeper import Housekeeper
from penstock.live.log.segment import SegmentSizes
from penstock.live.log.tail import LogEvents

Job: TypeAlias = Callable[[], None]

RETRY_S: Final = 1.0


class LogWriter:
    """Shared by all logs; with `threads=False` nothing happens until `run_pending`."""

    def __init__(
        self,
        events: LogEvents,
        *,
        fs: FileSystem | None = None,
        threads: bool = True,
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
        self.wake: Final = self._writing.put
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
        self._writing.put(None)
        self._keeping.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        take = self._writing.get
        try:
            while (job := take()) is not None and not self.has_failed:
                job()
        except BaseException as error:
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
