"""One TCP connection that carries frames, each behind its length.

Frames of one drain leave in one write. The connection says how much more it takes: what the system
has not taken yet counts as under way, so that queues stay in the machine, where they have a bound.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from threading import local
from time import monotonic_ns
from typing import Any, Final, cast

from penstock.kernel.errors import PeerError
from penstock.live.net.unsent import UnsentLimit
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import (
    FrameSplitter,
    frame_bytes,
    frame_bytes_max,
)
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame

# What may be under way at once.
WINDOW_BYTES: Final = 256 * 1024
# The same where `limit_unsent` was called: it is also what the kernel is given at once.
LIMITED_WINDOW_BYTES: Final = 32 * 1024
# Room is given back as soon as no more than this waits in the process for the system to take it.
_HIGH_BYTES: Final = 64 * 1024
_LOW_BYTES: Final = 16 * 1024
# Frames with lower types are those of brokers.
_FIRST_CLIENT_TYPE: Final = 0xA0
AnyFrame = BrokerFrame | ClientFrame


# What is read at once: so little that the other end can go on while this one works on it.
_READ_BYTES: Final = 64 * 1024


class _ReadBuffer(local):
    """One for all connections of an event loop, since it reads from one at a time."""

    def __init__(self) -> None:
        self.bytes: Final = memoryview(bytearray(_READ_BYTES))


_read_buffer: Final = _ReadBuffer()


class FrameConnection(asyncio.BufferedProtocol):
    """`on_frames` gets what came in one read, `on_room` bytes that have left, `on_lost` the end.

    `on_malformed` gets what cannot be decoded, behind the frames before it; it closes.
    """

    def __init__(
        self,
        *,
        on_made: Callable[[FrameConnection], None],
        on_frames: Callable[[FrameConnection, list[AnyFrame]], None],
        on_room: Callable[[FrameConnection, int], None],
        on_lost: Callable[[FrameConnection, Exception | None], None],
        on_malformed: Callable[[FrameConnection, PeerError], None] | None = None,
    ) -> None:
        self.peer = ""
        self.last_received_ns = monotonic_ns()
        self.is_open = False
        self._on_made: Final = on_made
        self._on_frames: Final = on_frames
        self._on_room: Final = on_room
        self._on_lost: Final = on_lost
        self._on_malformed: Final = on_malformed or FrameConnection.close
        bytes_max = max(frame_bytes_max(BROKER_FRAMES), frame_bytes_max(CLIENT_FRAMES))
        self._splitter: Final = FrameSplitter(bytes_max)
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._owed_bytes = 0
        self._is_paused = False
        # None: the kernel may hold as much as it takes.
        self._limit: UnsentLimit | None = None
        self._is_flushing = False
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The system has opened it."""
        # That of another event loop than asyncio's own is one by its methods alone.
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True
        transport = self._transport
        host, port, *_ = transport.get_extra_info("peername") or ("?", 0)
        self.peer = f"{host}:{port}"
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=_HIGH_BYTES, low=_LOW_BYTES)
        self._on_made(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Where the system puts what came."""
        return _read_buffer.bytes

    def buffer_updated(self, nbytes: int) -> None:
        """Decodes all frames that are whole; who sends anything else is disconnected."""
        data = bytes(_read_buffer.bytes[:nbytes])
        self.last_received_ns = monotonic_ns()
        frames: list[AnyFrame] = []
        malformed: PeerError | None = None
        try:
            for encoded in self._splitter.split(data):
                is_client = len(encoded) > 1 and encoded[1] >= _FIRST_CLIENT_TYPE
                frame: Any = (CLIENT_FRAMES if is_client else BROKER_FRAMES).decode(encoded)
                frames.append(frame)
        except PeerError as error:
            malformed = error
        if frames:
            self._on_frames(self, frames)
        is_closing = self._transport is None or self._transport.is_closing()
        if malformed is not None and not is_closing:
            self._on_malformed(self, malformed)

    def connection_lost(self, error: Exception | None) -> None:
        """It is gone, whoever ended it."""
        self.is_open = False
        if self._limit is not None:
            self._limit.close()
        self._on_lost(self, error or self._error)

    def pause_writing(self) -> None:
        """The system takes no more for now: room is given back by `resume_writing`."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """The system has taken most of what was under way."""
        self._is_paused = False
        self._give_back()

    def limit_unsent(self) -> None:
        """Keeps what the network has not taken out of the kernel."""
        if self._transport is not None and UnsentLimit.is_available():
            sock = self._transport.get_extra_info("socket")
            self._limit = UnsentLimit(sock, on_taken=self._give_back)

    def pause_reading(self) -> None:
        """Takes nothing more."""
        if self._transport is not None and self.is_open:
            self._transport.pause_reading()

    def put(self, frame: AnyFrame) -> int:
        """Adds a frame to the next write; returns its bytes."""
        table: Any = BROKER_FRAMES if isinstance(frame, BrokerFrame) else CLIENT_FRAMES
        data = frame_bytes(table, frame)
        self._unsent.append(data)
        return len(data)

    def flush_soon(self) -> None:
        """Writes when what runs now is done: many small frames then leave together."""
        if self._unsent and not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> int:
        """Writes what was put; returns the bytes for which there is room again at once."""
        self._is_flushing = False
        if not self._unsent or self._transport is None or not self.is_open:
            self._unsent.clear()
            return 0
        data = b"".join(self._unsent)
        self._unsent.clear()
        self._transport.write(data)
        self._owed_bytes += len(data)
        return self._take_owed()

    def _take_owed(self) -> int:
        """The bytes for which there is room now, unless the system still has too much."""
        if self._is_paused or (self._limit is not None and self._limit.is_exceeded()):
            return 0
        owed, self._owed_bytes = self._owed_bytes, 0
        return owed

    def _give_back(self) -> None:
        if owed := self._take_owed():
            self._on_room(self, owed)

    def say(self, frame: AnyFrame) -> None:
        """Writes a frame of the driver's own, which takes none of the room."""
        if self._transport is not None and self.is_open:
            table: Any = BROKER_FRAMES if isinstance(frame, BrokerFrame) else CLIENT_FRAMES
            self._transport.write(frame_bytes(table, frame))

    def close(self, error: Exception | None = None) -> None:
        """Ends it; what was written still leaves, unless there was an error."""
        self._error = self._error or error
        if self._transport is not None:
            if error is None:
                self._transport.close()
            else:
                self._transport.abort()
