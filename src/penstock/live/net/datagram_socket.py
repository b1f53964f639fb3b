"""Frames over one UDP socket.

Nothing that a peer sends, and nothing that the socket refuses, raises: it is
counted, for the network is best-effort. The names are those of `trace.fates`.
Knows no protocol and no time.
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

# Then others of the same loop have their turn.
_RECEIVE_BATCH_MAX: Final = 64
# What arrives while Python is busy waits here; the system may allow less.
_BUFFER_BYTES: Final = 4 << 20
_QUEUE_FULL_ERRNOS: Final = frozenset({EAGAIN, ENOBUFS})


class DatagramSocket:
    """Owns `sock`. Ports are addresses: see `live.address`.

    With `mark_above` what is sent while more than this share of the send queue is taken
    bears a mark.
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
        """To be waited for."""
        return self._socket.fileno()

    def send(self, frame: OverlayFrame, port: Port) -> None:
        """Now or never."""
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
        """What has arrived and can be read, up to a bound."""
        counters, recvfrom, decode = self.counters, self._socket.recvfrom, OVERLAY.decode
        for _ in range(_RECEIVE_BATCH_MAX):
            try:
                # One byte more than any frame has shows that there was more.
                data, address = recvfrom(DATAGRAM_BYTES_MAX + 1)
            except BlockingIOError:
                return
            except OSError:
                # What was sent before found nobody there.
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
        """What has arrived is not read any more."""
        self._socket.close()
