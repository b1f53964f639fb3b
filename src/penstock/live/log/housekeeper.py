"""What must not keep the writer waiting: preparing segments and removing old ones.

A disk without room is no failure: the log is told, keeps what it has been given, and goes on when
there is room again, which is looked for from time to time and after each removal.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from typing import Final

from penstock.live.log.file_system import FileSystem
from penstock.live.log.prepared_segment import PreparedSegment
from penstock.live.log.tail import LogEvents, LogTail

# Trimming writes metadata before it frees anything, and the store writes too.
RESERVE_BYTES: Final = 8 << 20
_NO_ROOM_ERRNOS: Final = frozenset({ENOSPC, EDQUOT})


class Housekeeper:
    """Of all logs of a process; runs in a thread of its own."""

    def __init__(
        self,
        fs: FileSystem,
        events: LogEvents,
        *,
        wake: Callable[[Callable[[], None]], None],
        new_id: Callable[[], int],
    ) -> None:
        self._fs: Final = fs
        self._events: Final = events
        self._wake: Final = wake
        self._new_id: Final = new_id
        # Logs that wait for room, with what is to be tried again.
        self._full: Final[dict[str, Callable[[], None]]] = {}

    @property
    def is_retrying(self) -> bool:
        """Whether there is something to be tried again."""
        return bool(self._full)

    def is_full(self, tail: LogTail) -> bool:
        """Whether a log waits for room."""
        return tail.name in self._full

    def retry(self) -> None:
        """Looks whether there is room now."""
        for job in list(self._full.values()):
            job()

    def forget(self, tail: LogTail) -> None:
        """The log is being closed: its next segment goes."""
        self._full.pop(tail.name, None)
        segments, tail.preparing, tail.prepared = (tail.preparing, tail.prepared), None, None
        for segment in segments:
            if segment is not None:
                segment.remove()

    def prepare(self, tail: LogTail, directory: str) -> None:
        """Makes the next segment ready, as far as it is wanted now."""
        small = tail.prepared or tail.preparing
        if small is not None and small.size_bytes < tail.size_wanted_bytes and tail.is_starving:
            self.forget(tail)
        if tail.prepared is None and not self._filled(tail, directory):
            return
        if tail.is_starving and tail.prepared is not None:
            tail.is_starving = False
            self._wake(tail.write)

    def trim(self, trim: Callable[[], bool]) -> None:
        """Removes what a log does not need any more; with it, others may have room."""
        try:
            is_freed = trim()
        except OSError as error:
            # Nothing is lost: the next trim removes it.
            if error.errno not in _NO_ROOM_ERRNOS:
                raise
        else:
            if is_freed:
                self.retry()

    def _filled(self, tail: LogTail, directory: str) -> bool:
        """False if there is no room."""
        was_full = self.is_full(tail)
        try:
            if tail.preparing is None:
                tail.preparing = self._new_segment(directory, tail.size_wanted_bytes)
            segment = tail.preparing
            while not segment.is_whole and segment.filled_bytes < tail.fill_wanted_bytes:
                segment.fill_piece()
        except OSError as error:
            if error.errno not in _NO_ROOM_ERRNOS:
                raise
            self.forget(tail)
            self._full[tail.name] = lambda: self.prepare(tail, directory)
            if not was_full:
                self._events.on_full(tail.name, True)
            return False
        if segment.is_whole:
            tail.prepared, tail.preparing = segment, None
        if was_full:
            del self._full[tail.name]
            self._events.on_full(tail.name, False)
        return True

    def _new_segment(self, directory: str, size_bytes: int) -> PreparedSegment:
        if self._fs.free_bytes(directory) < size_bytes + RESERVE_BYTES:
            raise OSError(ENOSPC, "too little room for a segment", directory)
        return PreparedSegment(self._fs, directory, self._new_id(), size_bytes)
