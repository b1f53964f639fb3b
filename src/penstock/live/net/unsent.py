"""A bound on what the kernel holds of a connection and has not sent yet.

A socket takes as much as its buffer has room for, a quarter of a megabyte and more: four seconds at
60 KB/s, in which whatever is urgent or of another stream waits, and of which the machine knows
nothing. TCP_NOTSENT_LOWAT only says when a socket counts as writable again.
"""

from __future__ import annotations

import asyncio
import os
import socket
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Final

try:
    from fcntl import ioctl
except ImportError:  # pragma: no cover
    ioctl = None  # type: ignore[assignment]

_LIMIT_BYTES: Final = 16 * 1024
# Linux: how much of what was written has not been sent.
_SIOCOUTQNSD: Final = 0x894B


class UnsentLimit:
    """Of one socket; `on_taken` is called when the network has taken what was too much."""

    def __init__(self, sock: socket.socket, *, on_taken: Callable[[], None]) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _LIMIT_BYTES)
        # The event loop watches the other one for its transport.
        self._fd = os.dup(sock.fileno())
        self._on_taken: Final = on_taken
        self._is_watched = False

    @staticmethod
    def is_available() -> bool:
        """Whether this system has what it takes."""
        return ioctl is not None and hasattr(socket, "TCP_NOTSENT_LOWAT")

    def is_exceeded(self) -> bool:
        """Whether the kernel has more than the limit; if so, `on_taken` follows."""
        if self._fd < 0:
            return False
        if not self._is_watched and self._unsent_bytes() > _LIMIT_BYTES:
            self._is_watched = True
            asyncio.get_running_loop().add_writer(self._fd, self._on_writable)
        return self._is_watched

    def close(self) -> None:
        """The connection is gone."""
        self._unwatch()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _unsent_bytes(self) -> int:
        found = array("i", [0])
        # A system that does not know the question has no answer either.
        with suppress(OSError):
            ioctl(self._fd, _SIOCOUTQNSD, found)
        return found[0]

    def _on_writable(self) -> None:
        self._unwatch()
        self._on_taken()

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            asyncio.get_running_loop().remove_writer(self._fd)
