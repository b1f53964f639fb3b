"""The other end of a broker's connection, frame by frame."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, Final

from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import FrameSplitter, frame_bytes
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame
from penstock.wire.frames.guaranteed.client import ClientPing
from penstock.wire.frames.guaranteed.hello import Hello, Ping, Role
from tests.live.loopback import DEADLINE_S

AnyFrame = BrokerFrame | ClientFrame
_opened: Final[list[Peer]] = []


def hello(token: int, broker: str = "child", life: int = 1) -> Hello:
    """What a child says first."""
    return Hello(broker=broker, life=life, roles=Role.HOST, token=token)


class Peer:
    """One connection; `open` makes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader: Final = reader
        self._writer: Final = writer
        self._splitter: Final = FrameSplitter(1 << 21)
        self._frames: Final[deque[AnyFrame]] = deque()

    @classmethod
    async def open(cls, address: str, *frames: AnyFrame) -> Peer:
        """Connects, and sends these."""
        host, _, port = address.rpartition(":")
        peer = cls(*await asyncio.open_connection(host, int(port)))
        _opened.append(peer)
        peer.send(*frames)
        return peer

    def send(self, *frames: AnyFrame) -> None:
        """Sends frames."""
        for frame in frames:
            table: Any = BROKER_FRAMES if isinstance(frame, BrokerFrame) else CLIENT_FRAMES
            self._writer.write(frame_bytes(table, frame))

    def send_bytes(self, data: bytes) -> None:
        """Sends what is no frame."""
        self._writer.write(data)

    async def receive(self, timeout_s: float = DEADLINE_S) -> AnyFrame | None:
        """The next frame that is no PING, or None at the end of the connection."""
        async with asyncio.timeout(timeout_s):
            while True:
                while self._frames:
                    frame = self._frames.popleft()
                    if not isinstance(frame, Ping | ClientPing):
                        return frame
                try:
                    chunk = await self._reader.read(1 << 16)
                except ConnectionError:
                    return None
                if not chunk:
                    return None
                for data in self._splitter.split(chunk):
                    of_clients = data[1] >= 0xA0
                    table: Any = CLIENT_FRAMES if of_clients else BROKER_FRAMES
                    self._frames.append(table.decode(data))

    async def close(self) -> None:
        """Ends it."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


async def close_all() -> None:
    """Ends all connections of a test."""
    while _opened:
        await _opened.pop().close()


async def link(address: str, token: int, broker: str = "child", life: int = 1) -> tuple[Peer, Peer]:
    """Both connections of a link, as a child opens them: control and data."""
    control = await Peer.open(address, hello(token, broker, life))
    answer = await control.receive()
    assert isinstance(answer, Hello), answer
    assert answer.token == token
    data = await Peer.open(address, hello(token, broker, life))
    return control, data
