"""Two connections per link, and what becomes of those that do not keep to it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock.guaranteed.settings import BrokerSettings, LinkSettings
from penstock.kernel.instant import MILLISECOND
from penstock.live.guaranteed import links, parents
from penstock.live.guaranteed.addresses import is_same
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net import address
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import FrameConnection
from penstock.live.net.link import Link
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import frame_bytes
from penstock.wire.frames.guaranteed.channels import CHANNEL_OF
from penstock.wire.frames.guaranteed.client import ClientPing, Connect, Refused, Welcome
from penstock.wire.frames.guaranteed.hello import Hello, Ping
from tests.live.guaranteed.peer import Peer, close_all, hello, link

Test = Callable[[StreamBroker], Awaitable[None]]
# Silence shows soon, but not on a busy machine that is late by a little.
HASTY = BrokerSettings(
    link=LinkSettings(
        ping_ns=50 * MILLISECOND, silent_ns=400 * MILLISECOND, client_silent_ns=400 * MILLISECOND
    )
)


def run(directory: Path, test: Test, settings: BrokerSettings | None = None) -> None:
    """Runs a test with a broker in the same process."""

    async def main() -> None:
        broker = StreamBroker(directory, name="broker", settings=settings)
        await broker.start(HostPort("127.0.0.1", 0))
        try:
            await asyncio.wait_for(test(broker), 20)
        finally:
            await close_all()
            await broker.close()

    asyncio.run(main())


def children(broker: StreamBroker) -> int:
    """How many links the machine knows."""
    return len(broker.machine.queues) - broker.machine.clients


async def until(is_done: Callable[[], bool]) -> None:
    while not is_done():
        await asyncio.sleep(0.005)


async def refusal(peer: Peer) -> str:
    """Why a connection was refused; it has ended behind that."""
    refused = await peer.receive()
    assert isinstance(refused, Refused), refused
    assert await peer.receive() is None
    return refused.reason


def test_every_frame_between_brokers_has_a_channel() -> None:
    assert set(CHANNEL_OF) == {row.frame_class for row in BROKER_FRAMES.rows}


def test_a_link_is_up_when_both_connections_are_there(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        control = await Peer.open(broker.address, hello(7))
        answer = await control.receive()
        assert isinstance(answer, Hello)
        assert (answer.broker, answer.token, answer.pubends) == ("broker", 7, ())
        assert children(broker) == 0
        data = await Peer.open(broker.address, hello(7))
        announced = await data.receive()
        assert isinstance(announced, Hello)
        assert announced.token == 7
        assert children(broker) == 1

    run(tmp_path, test)


@pytest.mark.parametrize("first", ["control", "data"])
def test_one_closed_connection_ends_the_link(tmp_path: Path, first: str) -> None:
    async def test(broker: StreamBroker) -> None:
        control, data = await link(broker.address, 7)
        assert isinstance(await data.receive(), Hello)
        closed, other = (control, data) if first == "control" else (data, control)
        await closed.close()
        assert await other.receive() is None
        assert children(broker) == 0
        # The token is free again.
        _, data = await link(broker.address, 7)
        assert isinstance(await data.receive(), Hello)

    run(tmp_path, test)


@pytest.mark.parametrize("silent", ["control", "data"])
def test_one_silent_connection_ends_the_link(tmp_path: Path, silent: str) -> None:
    async def test(broker: StreamBroker) -> None:
        both = await link(broker.address, 7)
        alive = both[1] if silent == "control" else both[0]

        async def ping() -> None:
            while True:
                alive.send(Ping())
                await asyncio.sleep(0.02)

        task = asyncio.create_task(ping())
        await until(lambda: children(broker) == 1)
        await until(lambda: children(broker) == 0)
        task.cancel()

    run(tmp_path, test, HASTY)


def test_half_a_link_ends_though_it_pings(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        control = await Peer.open(broker.address, hello(7))
        assert isinstance(await control.receive(), Hello)

        async def ping() -> None:
            while True:
                control.send(Ping())
                await asyncio.sleep(0.02)

        task = asyncio.create_task(ping())
        assert await control.receive() is None
        task.cancel()

    run(tmp_path, test, HASTY)


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        peer = await Peer.open(broker.address)
        assert await peer.receive() is None

    run(tmp_path, test, HASTY)


def test_a_silent_client_is_dropped_and_one_that_pings_is_not(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        silent = await Peer.open(broker.address, Connect(publisher="a", life=1))
        alive = await Peer.open(broker.address, Connect(publisher="b", life=1))
        for peer in (silent, alive):
            assert isinstance(await peer.receive(), Welcome)

        async def ping() -> None:
            while True:
                alive.send(ClientPing())
                await asyncio.sleep(0.02)

        task = asyncio.create_task(ping())
        await silent.receive()
        assert await silent.receive() is None
        assert broker.machine.clients == 1
        task.cancel()

    run(tmp_path, test, HASTY)


def test_foreign_tokens_are_refused(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        _, data = await link(broker.address, 7)
        assert isinstance(await data.receive(), Hello)
        assert await refusal(await Peer.open(broker.address, hello(7))) == "token"
        assert await refusal(await Peer.open(broker.address, hello(0, "other"))) == "token"
        control = await Peer.open(broker.address, hello(8, "other"))
        assert isinstance(await control.receive(), Hello)
        assert await refusal(await Peer.open(broker.address, hello(8, "thief"))) == "token"
        # Nobody else was harmed.
        assert children(broker) == 1
        data = await Peer.open(broker.address, hello(8, "other"))
        assert isinstance(await data.receive(), Hello)

    run(tmp_path, test)


def test_half_links_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_HALF_OPEN_MAX", 3)

    async def test(broker: StreamBroker) -> None:
        half = [await Peer.open(broker.address, hello(token)) for token in (1, 2, 3)]
        for peer in half:
            assert isinstance(await peer.receive(), Hello)
        assert await refusal(await Peer.open(broker.address, hello(4))) == "full"
        await half[0].close()
        _, data = await link(broker.address, 5)
        assert isinstance(await data.receive(), Hello)

    run(tmp_path, test)


def test_a_broker_has_one_link_and_the_newer_one_counts(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        _, old = await link(broker.address, 1, life=4)
        assert isinstance(await old.receive(), Hello)
        _, new = await link(broker.address, 2, life=5)
        assert isinstance(await new.receive(), Hello)
        assert await old.receive() is None
        assert children(broker) == 1
        assert await refusal(await Peer.open(broker.address, hello(3, life=4))) == "name"
        # Two directories may have had as many lives: they would replace each other for ever.
        assert await refusal(await Peer.open(broker.address, hello(3, life=5))) == "name"
        assert await refusal(await Peer.open(broker.address, hello(3, "broker"))) == "name"

    run(tmp_path, test)


def test_what_is_no_frame_is_refused_with_a_reason(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        other = bytearray(frame_bytes(BROKER_FRAMES, hello(1)))
        other[4] = 2
        for data, reason in ((bytes(other), "version"), (b"GET / HTTP/1.1\r\n", "protocol")):
            peer = await Peer.open(broker.address)
            peer.send_bytes(data)
            assert await refusal(peer) == reason
        assert await refusal(await Peer.open(broker.address, Ping())) == "protocol"
        client = await Peer.open(broker.address, Connect(publisher="a", life=1))
        assert isinstance(await client.receive(), Welcome)
        client.send_bytes(b"\0\0\0\x02\x01\xff")
        frames = [await client.receive() for _ in range(3)]
        assert isinstance(frames[1], Refused)
        assert frames[1].reason == "protocol"
        assert frames[2] is None

    run(tmp_path, test)


def test_a_link_that_speaks_as_a_client_ends(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        control, data = await link(broker.address, 7)
        assert isinstance(await data.receive(), Hello)
        data.send(Connect(publisher="a", life=1))
        assert await control.receive() is None
        assert children(broker) == 0

    run(tmp_path, test)


def test_clients_have_a_bound(tmp_path: Path) -> None:
    async def test(broker: StreamBroker) -> None:
        first = await Peer.open(broker.address, Connect(publisher="a", life=1))
        assert isinstance(await first.receive(), Welcome)
        second = await Peer.open(broker.address, Connect(publisher="b", life=1))
        assert await refusal(second) == "full"

    run(tmp_path, test, BrokerSettings(link=LinkSettings(clients_max=1)))


ANSWERS = {
    "speaks another version": b"\0\0\0\x02\x02\x80",
    "is no broker of streams": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "does not answer": b"",
}


@pytest.mark.parametrize("said", ANSWERS)
def test_a_parent_that_cannot_be_used_is_one_line(
    tmp_path: Path, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "penstock.streams")
    tries = 0

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        writer.write(ANSWERS[said])
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        parent = HostPort(*server.sockets[0].getsockname())
        broker = StreamBroker(tmp_path, parents=[parent])
        await broker.start(HostPort("127.0.0.1", 0))
        await asyncio.wait_for(until(lambda: tries >= 2), 20)
        await broker.close()
        server.close()

    asyncio.run(main())
    (record,) = caplog.records
    assert said in record.getMessage()
    assert "\n" not in record.getMessage()


@pytest.mark.parametrize(
    ("listen", "parent", "is_one"),
    [
        ("127.0.0.1:7451", "127.0.0.1:7451", True),
        ("127.0.0.1:7451", "localhost:7451", True),
        ("0.0.0.0:7451", "127.0.0.1:7451", True),
        ("127.0.0.1:7451", "0.0.0.0:7451", True),
        ("[::]:7451", "[::1]:7451", True),
        ("host7:7451", "host7:7451", True),
        ("127.0.0.1:7451", "127.0.0.1:7461", False),
        ("127.0.0.1:7451", "host7:7451", False),
        ("0.0.0.0:7451", "10.0.0.7:7451", False),
        ("127.0.0.1:7451", "127.0.0.2:7451", False),
    ],
)
def test_a_broker_that_is_plainly_its_own_parent_is_known(
    listen: str, parent: str, is_one: bool
) -> None:
    assert is_same(address.parse(listen), address.parse(parent)) is is_one


def tries_of_parents(monkeypatch: pytest.MonkeyPatch) -> list[HostPort]:
    """One for each time that a link to a parent was opened; there is no pause between them."""
    tries: list[HostPort] = []
    monkeypatch.setattr(parents, "_RETRY_S", 0)
    opened = parents.ParentLink._open

    async def counted(link: parents.ParentLink) -> tuple[Link, FrameConnection]:
        tries.append(link._parent)
        return await opened(link)

    monkeypatch.setattr(parents.ParentLink, "_open", counted)
    return tries


def refused_brokers(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.messages if "refused" in line]


def test_a_broker_that_is_its_own_parent_by_another_name_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each side of the link has a line, though it is tried again and again."""
    caplog.set_level(logging.INFO, "penstock.streams")
    tries = tries_of_parents(monkeypatch)

    async def test(broker: StreamBroker) -> None:
        own = address.parse(broker.address)
        # As by a name that no one can tell is that of this machine.
        link = parents.ParentLink(own, broker._links, timeout_s=5)
        keeping = asyncio.create_task(link.keep())
        await until(lambda: len(tries) >= 5)
        # The last try may be cut off.
        said.extend(refused_brokers(caplog))
        keeping.cancel()

    said: list[str] = []
    run(tmp_path, test)
    here, there = sorted(said)
    assert here.endswith("refused: it is broker 'broker' itself: name another parent")
    assert there.startswith("parent 127.0.0.1:")


def test_a_parent_whose_name_cannot_be_resolved_is_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "penstock.streams")
    tries = tries_of_parents(monkeypatch)

    async def resolves_nothing(_link: parents.ParentLink, _opened: object) -> FrameConnection:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(parents.ParentLink, "_connect", resolves_nothing)

    async def main() -> None:
        broker = StreamBroker(tmp_path, parents=[HostPort("brokr", 7451)])
        await broker.start(HostPort("127.0.0.1", 0))
        await asyncio.wait_for(until(lambda: len(tries) >= 2), 20)
        await broker.close()

    asyncio.run(main())
    assert caplog.messages == [
        "parent brokr:7451 cannot be resolved: check the host name (trying again)"
    ]


def test_a_parent_that_is_named_twice_refuses_one_link_and_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "penstock.streams")
    tries = tries_of_parents(monkeypatch)

    async def test(broker: StreamBroker) -> None:
        port = address.parse(broker.address).port
        # As by two names of one machine.
        twice = [HostPort("127.0.0.1", port), HostPort("localhost", port)]
        edge = StreamBroker(tmp_path / "edge", name="edge", parents=twice)
        await edge.start(HostPort("127.0.0.1", 0))
        await until(lambda: len(tries) >= 8)
        await edge.close()

    run(tmp_path / "one", test)
    assert any(
        "refused: a broker 'edge' is linked here: name parents once, and" in line
        for line in refused_brokers(caplog)
    )


def test_a_broker_that_is_refused_again_and_again_is_a_line_in_both_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "penstock.streams")
    tries = tries_of_parents(monkeypatch)

    async def test(broker: StreamBroker) -> None:
        parent = address.parse(broker.address)
        namesake = StreamBroker(tmp_path / "other", name="broker", parents=[parent])
        await namesake.start(HostPort("127.0.0.1", 0))
        await until(lambda: len(tries) >= 5)
        await namesake.close()

    run(tmp_path / "one", test)
    lines = refused_brokers(caplog)
    assert len(lines) == 2
    assert all("another broker is called 'broker': give each its own" in line for line in lines)
