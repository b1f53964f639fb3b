"""Frames over one UDP socket.

Neither invalid datagrams nor socket errors raise: they are counted, because the network is
best-effort. The counters are named as in `trace.fates`. Knows neither protocols nor time.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from errno import EAGAIN, ENOBUFS
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.kernel.machine import Port
from penstock.live.net.address import port_of, sockaddr_of
from penstock.live.net.send_backlog import SendBacklog
from penstock.overlay.forwarding.congestion_mark import mark_congestion
from penstock.wire.codec.overlay import OVERLAY
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.limits import DATAGRAM_BYTES_MAX

# Bounds one read, so that other tasks of the event loop get their turn.
_RECEIVE_BATCH_MAX: Final = 64
# Buffers datagrams while Python is busy; the system may grant less.
_BUFFER_BYTES: Final = 4 << 20
_QUEUE_FULL_ERRNOS: Final = frozenset({EAGAIN, ENOBUFS})


class DatagramSocket:
    """Owns `sock`; ports are addresses, see `live.net.address`.

    Frames sent while more than the share `mark_above` of the send queue is in use get the
    congestion mark.
    """

    def __init__(self, sock: socket.socket, *, mark_above: float | None = None) -> None:
        sock.setblocking(False)
        for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, buffer, _BUFFER_BYTES)
        self._socket = sock
        self._backlog: Final = None if mark_above is None else SendBacklog(sock, mark_above)
        self.counters: Final = {"received": 0, "sent": 0, "corrupt": 0, "queue_full": 0, "down": 0}
        if mark_above is not None:
            self.counters["marked"] = 0

    def fileno(self) -> int:
        """The file descriptor to poll."""
        return self._socket.fileno()

    def send(self, frame: OverlayFrame, port: Port) -> None:
        """Sends a frame at once; if the socket refuses it, the frame is dropped and counted."""
        if self._backlog is not None and self._backlog.is_above_threshold:
            marked = mark_congestion(frame)
            self.counters["marked"] += marked is not frame
            frame = marked
        try:
            self._socket.sendto(OVERLAY.encode(frame), sockaddr_of(port))
        except OSError as error:
            self.counters["queue_full" if error.errno in _QUEUE_FULL_ERRNOS else "down"] += 1
        else:
            self.counters["sent"] += 1

    def receive(self) -> Iterator[tuple[OverlayFrame, Port]]:
        """Reads and decodes the datagrams that have arrived, at most 64."""
        counters, recvfrom, decode = self.counters, self._socket.recvfrom, OVERLAY.decode
        for _ in range(_RECEIVE_BATCH_MAX):
            try:
                # One byte more than the largest frame, so that an oversized datagram is noticed.
                data, address = recvfrom(DATAGRAM_BYTES_MAX + 1)
            except BlockingIOError:
                return
            except OSError:
                # The ICMP error of an earlier send: no socket at that address.
                counters["down"] += 1
                continue
            counters["received"] += 1
            try:
                frame = decode(data)
            except PeerError:
                counters["corrupt"] += 1
                continue
            yield frame, port_of(address)

    def close(self) -> None:
        """Closes the socket; unread datagrams are lost."""
        self._socket.close()
