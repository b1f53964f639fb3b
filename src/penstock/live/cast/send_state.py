"""What a sender keeps until all have the object: its ticket, and who it is on the network.

The same command that is run again is the same sender, with the same ticket. One small file for each
path and item, which is locked while it is in use; it is readable for its owner alone.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import blake2b
from pathlib import Path
from random import SystemRandom
from time import time
from typing import Any, Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.ticket import new_ticket, read_ticket

_BYTES_MAX: Final = 4_096
_WORD_MAX: Final = (1 << 32) - 1


def state_directory() -> Path:
    """Of all casts of this user."""
    base = os.environ.get("XDG_STATE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return home / "penstock" / "casts"


class SendState:
    """Of one path and item; without a file where none can be kept, or another process has it."""

    def __init__(self, path: str | os.PathLike[str], item: str) -> None:
        real = os.path.realpath(path)
        self._fd = -1
        self.is_kept = False
        known = self._opened(real, item)
        self.is_resumed: Final = bool(known)
        self.ticket: Final[str] = known.get("ticket") or new_ticket()
        self.node: Final[int] = known.get("node") or SystemRandom().randrange(1, _WORD_MAX + 1)
        # Rises with each start.
        self.boot: Final = max(known.get("boot", 0) + 1, int(time()))
        document = {
            "path": real,
            "item": item,
            "ticket": self.ticket,
            "node": self.node,
            "boot": self.boot,
        }
        if self._fd >= 0:
            try:
                data = json.dumps(document).encode()
                os.pwrite(self._fd, data, 0)
                os.ftruncate(self._fd, len(data))
                self.is_kept = True
            except OSError:
                self.close()

    def forget(self) -> None:
        """All have the object: the next cast has another ticket."""
        if self._fd >= 0:
            with suppress(OSError):
                os.unlink(self._path)

    def close(self) -> None:
        """Another process may be this sender now."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _opened(self, real: str, item: str) -> dict[str, Any]:
        """What the file says; nothing if there is none."""
        key = blake2b(f"{real}\0{item}".encode(errors="surrogateescape"), digest_size=16)
        try:
            directory = state_directory()
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path: Path = directory / f"{key.hexdigest()}.json"
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(self._path, flags, 0o600)
        except (OSError, RuntimeError):
            return {}
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except OSError:
            # The same command runs already: this is another cast.
            os.close(fd)
            return {}
        self._fd = fd
        return _document_in(os.pread(fd, _BYTES_MAX, 0))


def _document_in(data: bytes) -> dict[str, Any]:
    """What was kept; nothing if it is damaged."""
    try:
        found = json.loads(data)
        read_ticket(found["ticket"])
        is_valid = all(0 < found[key] < _WORD_MAX for key in ("node", "boot"))
    except (ValueError, LookupError, TypeError, AttributeError, UsageError):
        return {}
    return found if is_valid else {}
