"""A UDP socket that sends and reads datagrams of one size in trains.

The kernel cuts a train into datagrams, and joins datagrams of one sender that come one behind the
other: a tenth of the system calls. Where it refuses to, every datagram goes on its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import EINVAL, EIO
from struct import Struct
from typing import Final, NamedTuple

# Linux, from 4.18 and 5.0 on.
_UDP_SEGMENT: Final = 103
_UDP_GRO: Final = 104
_REFUSED: Final = frozenset({EINVAL, EIO})
_SEGMENT_BYTES: Final = Struct("=H")
_GRO_BYTES: Final = Struct("=i")
_READ_BYTES: Final = 65_535
# Bounds one call of `receive`, so that timers get their turn.
_READS_MAX: Final = 16
BUFFER_BYTES: Final = 4 << 20
# For root alone: what the system grants others may be less.
_SO_RCVBUFFORCE: Final = 33

Address = tuple[str, int]


class Train(NamedTuple):
    """Datagrams that came together, and who sent them."""

    datagrams: list[memoryview]
    address: Address


class DatagramTrains:
    """Owns `sock`."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket: Final = sock
        self._buffer: Final = bytearray(_READ_BYTES)
        self.has_segmentation = True
        # Datagrams, and those that the socket had no room for.
        self.received = 0
        self.sent = 0
        self.dropped = 0
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self.buffer_bytes: Final = _grow_buffer(sock)
        # Where there is no such option, each datagram is a train of its own.
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)

    def fileno(self) -> int:
        """The file descriptor to poll."""
        return self._socket.fileno()

    @property
    def address(self) -> Address:
        """Where it is bound."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def send(self, datagram: bytes, address: Address) -> None:
        """Sends one datagram; it is dropped and counted if there is no room."""
        try:
            self._socket.sendto(datagram, address)
        except OSError:
            self.dropped += 1
        else:
            self.sent += 1

    def send_train(self, datagrams: Sequence[bytes], address: Address) -> None:
        """Sends datagrams of one length."""
        if self.has_segmentation and len(datagrams) > 1:
            size = _SEGMENT_BYTES.pack(len(datagrams[0]))
            ancillary = [(socket.IPPROTO_UDP, _UDP_SEGMENT, size)]
            try:
                self._socket.sendmsg(datagrams, ancillary, 0, address)
            except OSError as error:
                if error.errno not in _REFUSED:
                    self.dropped += len(datagrams)
                    return
                self.has_segmentation = False
            else:
                self.sent += len(datagrams)
                return
        for datagram in datagrams:
            self.send(datagram, address)

    def receive(self) -> Iterator[Train]:
        """Reads what has arrived, up to a bound; a train is valid until the next is read."""
        view = memoryview(self._buffer)
        for _ in range(_READS_MAX):
            try:
                size, ancillary, _flags, address = self._socket.recvmsg_into(
                    [self._buffer], socket.CMSG_SPACE(_GRO_BYTES.size)
                )
            except BlockingIOError:
                return
            except OSError:
                # The ICMP error of an earlier send: nobody listens there.
                continue
            step = size
            for level, kind, data in ancillary:
                if level == socket.IPPROTO_UDP and kind == _UDP_GRO:
                    step = _GRO_BYTES.unpack(data[: _GRO_BYTES.size])[0]
            datagrams = [view[at : min(at + step, size)] for at in range(0, size, max(1, step))]
            self.received += len(datagrams)
            yield Train(datagrams, address[:2])

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


def _grow_buffer(sock: socket.socket) -> int:
    """Asks for a large receive buffer; returns what there is."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, BUFFER_BYTES)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    # The kernel doubles what it is asked for, for its own use.
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
