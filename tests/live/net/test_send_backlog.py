"""Brokers on sockets that mark what they send while their send queue is full."""

from __future__ import annotations

import socket
import sys

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.daemon.broker import serve
from penstock.live.net.send_backlog import SendBacklog
from penstock.wire.frames.data import Data
from tests.live.daemon.test_broker import Bare
from tests.live.loopback import QUICK, run, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

# From <linux/udp.h>: what is sent waits in the socket until this is taken back.
_UDP_CORK = 1


class Looking(Bare):
    """A client that looks for marks."""

    def __init__(self, broker: str) -> None:
        self.marked: list[bool] = []
        super().__init__(broker)

    def _take(self, frame: Data) -> None:
        super()._take(frame)
        self.marked.append(frame.congestion_experienced)


def test_what_has_not_left_is_seen() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        other.bind(("127.0.0.1", 0))
        sock.connect(other.getsockname())
        backlog = SendBacklog(sock, 0.5)
        assert backlog.fill == 0
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_CORK, 1)
        sock.send(bytes(20_000))
        size_bytes = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert 20_000 / size_bytes <= backlog.fill <= 1
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_CORK, 0)
        assert backlog.fill == 0


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_what_is_sent_while_it_is_fuller_is_marked(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On loopback nothing waits.
    monkeypatch.setattr(SendBacklog, "fill", share)

    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK, mark_above=0.5) as broker:
            client = Looking(broker.address)
            try:
                await client.heard()
                client.subscribe("x = 1")
                await until(broker.machine.advertised)
                client.publish(7, x=1)
                await until(lambda: client.got == [7])
                assert client.marked == [share > 0.5]
                assert broker.counters["socket"]["marked"] == (share > 0.5)
            finally:
                client.pump.close()

    run(program())


def test_a_share_that_is_none_is_refused() -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match="mark_above is a share of the send queue, 0 to 1"):
            async with serve("127.0.0.1:0", mark_above=1.5):
                pass

    run(program())
