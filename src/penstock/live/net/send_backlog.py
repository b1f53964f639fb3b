"""Fill level of a socket's send queue: bytes sent that have not left this host.

The kernel counts each datagram, with its overhead, until the network device has taken it. Queues of
other hosts cannot be observed from here.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

from penstock.kernel.errors import UsageError

_INT: Final = struct.Struct("i")


class SendBacklog:
    """The send queue of one UDP socket, compared with the share `threshold`; Linux only."""

    def __init__(self, sock: socket.socket, threshold: float) -> None:
        if sys.platform != "linux":
            raise UsageError("only Linux tells how full a send queue is: leave mark_above out")
        self._socket: Final = sock
        self._threshold: Final = threshold
        self._capacity_bytes: Final = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    @property
    def is_above_threshold(self) -> bool:
        """Whether the fill level exceeds the threshold."""
        return self.fill > self._threshold

    @property
    def fill(self) -> float:
        """The used share of the queue, from 0 to about 1."""
        from fcntl import ioctl
        from termios import TIOCOUTQ

        (queued_bytes,) = _INT.unpack(ioctl(self._socket, TIOCOUTQ, bytes(_INT.size)))
        return float(queued_bytes / self._capacity_bytes)
