"""Connections of frames: what was written gives its room back, however the system takes it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from penstock.live.net.frame_connection import FrameConnection
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import LENGTH_BYTES
from penstock.wire.frames.guaranteed.client import ClientPing
from penstock.wire.frames.guaranteed.publication import Publish
from tests.live.loopback import DEADLINE_S

FRAME = Publish(stream="orders", ids=(1,), bodies=(b"\0\1\x80" + bytes(997),))
FRAME_BYTES = LENGTH_BYTES + CLIENT_FRAMES.size_of(FRAME)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection; the system takes little of what the first one sends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    near.setblocking(False)
    far.setblocking(False)
    return near, far


@pytest.mark.parametrize("frames", [1, 60, 100, 200, 500])
def test_all_room_comes_back_once_the_peer_has_read(frames: int) -> None:
    async def main() -> None:
        near, far = tcp_pair()
        given_back = 0

        def on_room(_connection: FrameConnection, size_bytes: int) -> None:
            nonlocal given_back
            given_back += size_bytes

        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: FrameConnection(
                on_made=lambda _: None,
                on_frames=lambda *_: None,
                on_room=on_room,
                on_lost=lambda *_: None,
            ),
            sock=near,
        )
        for _ in range(frames):
            connection.put(FRAME)
        given_back += connection.flush()
        # What the driver writes of its own neither takes nor gives room.
        connection.say(ClientPing())
        ping_bytes = LENGTH_BYTES + CLIENT_FRAMES.size_of(ClientPing())
        left = frames * FRAME_BYTES + ping_bytes
        while left:
            left -= len(await loop.sock_recv(far, 65_536))
        async with asyncio.timeout(DEADLINE_S):
            while given_back < frames * FRAME_BYTES:
                await asyncio.sleep(0)
        assert given_back == frames * FRAME_BYTES
        connection.close()
        far.close()
        await asyncio.sleep(0)

    asyncio.run(main())
