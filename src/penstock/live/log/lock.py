"""One process per directory: a second one is told which has it."""

from __future__ import annotations

import os
from typing import Final

from penstock.kernel.errors import UsageError

LOCK_NAME: Final = "lock"


class DirectoryLock:
    """Held until it is closed or the process ends, however it ends."""

    def __init__(self, directory: str) -> None:
        # Not on every platform that imports this room.
        from fcntl import LOCK_EX, LOCK_NB, flock

        fd = os.open(f"{directory}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise UsageError(
                f"{directory} is in use by process {holder}: stop it, or name another directory"
            ) from None
        # For the text above; the lock itself needs no contents, so nothing here is synced.
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def close(self) -> None:
        """Lets another process in."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
