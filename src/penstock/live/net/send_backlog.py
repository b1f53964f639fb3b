"""How full a socket's send queue is: what was sent and has not left this machine.

The kernel counts a datagram, with what it takes to keep it, until the device has it. What waits
in other machines' queues nobody can see from here.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

from penstock.kernel.errors import UsageError

_INT: Final = struct.Struct("i")


class SendBacklog:
    """Of one UDP socket, of which no more than a share `above` should be taken; Linux only."""

    def __init__(self, sock: socket.socket, threshold: float) -> None:
        if sys.platform != "linux":
            raise UsageError("only Linux tells how full a send queue is: leave mark_above out")
        self._socket: Final = sock
        self._threshold: Final = threshold
        self._capacity_bytes: Final = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    @property
    def is_above_threshold(self) -> bool:
        """Whether more of it is taken than should be."""
        return self.fill > self._threshold

    @property
    def fill(self) -> float:
        """Of the queue, from 0 to about 1."""
        from fcntl import ioctl
        from termios import TIOCOUTQ

        (queued_bytes,) = _INT.unpack(ioctl(self._socket, TIOCOUTQ, bytes(_INT.size)))
        return float(queued_bytes / self._capacity_bytes)
