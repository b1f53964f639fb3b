"""A broker that is told to end confirms what it has taken, and leaves its directory to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock import streams
from penstock.kernel.errors import PenstockError, UsageError
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort, parse
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.client import Connect
from penstock.wire.frames.guaranteed.publication import Confirm, Publish
from tests.live.guaranteed.peer import Peer, close_all
from tests.live.guaranteed.processes.process import BrokerProcess

ANYWHERE = HostPort("127.0.0.1", 0)


async def stored(broker: StreamBroker) -> int:
    """How many messages its stream has."""
    (pubend,) = broker.machine.pubends.values()
    return pubend.stored.size.messages


async def confirmed_until_the_end(peer: Peer) -> int:
    """How many publications a client was told of."""
    count = 0
    while (frame := await peer.receive()) is not None:
        count += frame.publications if isinstance(frame, Confirm) else 0
    return count


def test_what_was_taken_is_confirmed(tmp_path: Path) -> None:
    body = write_body({"n": 1}, bytes(1_000))

    async def main() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        async with streams.connect(broker.address) as node:
            await node.create_stream("orders")
        peer = await Peer.open(broker.address, Connect(publisher="writer", life=1))
        peer.send(*(Publish(stream="orders", ids=(id_,), bodies=(body,)) for id_ in range(1, 801)))
        # Some of them are taken, and not all.
        while not any(pubend.unsynced for pubend in broker.machine.pubends.values()):
            await asyncio.sleep(0)
        counting = asyncio.create_task(confirmed_until_the_end(peer))
        await broker.close()
        confirmed = await asyncio.wait_for(counting, 20)
        await close_all()
        again = StreamBroker(tmp_path)
        assert 0 < confirmed == await stored(again)
        await again.close()

    asyncio.run(main())


def test_sigterm_is_a_clean_end_and_the_next_life_goes_on(tmp_path: Path) -> None:
    broker = BrokerProcess("b1", tmp_path)
    broker.start()
    broker.wait_ready()

    async def main() -> None:
        async with streams.connect(broker.address, name="writer", timeout="30s") as node:
            orders = node.stream("orders", create=True)
            pending = [await orders.submit({"n": number}) for number in range(500)]
            assert broker.stop() == 0
            assert "broker b1 ends: orders has " in broker.said()
            broker.start()
            for each in pending:
                await each
            got: list[int] = []
            async with orders.subscribe(durable="d", start="first") as inbox:
                while len(got) < 500:
                    got += [message["n"] for message in await inbox.receive(1_000, wait="20s")]
            assert got == [*range(500)]

    try:
        asyncio.run(asyncio.wait_for(main(), 60))
    finally:
        broker.kill()


def test_closing_twice_and_at_once_is_no_error(tmp_path: Path) -> None:
    async def main() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        waiting = asyncio.create_task(broker.wait())
        await asyncio.gather(broker.close(), broker.close())
        await broker.close()
        await waiting
        # Its directory and its port are free.
        other = StreamBroker(tmp_path)
        await other.start(parse(broker.address))
        await other.close()

    asyncio.run(main())


def test_a_broker_that_cannot_listen_leaves_its_directory(tmp_path: Path) -> None:
    async def main() -> None:
        first = StreamBroker(tmp_path / "first")
        await first.start(ANYWHERE)
        second = StreamBroker(tmp_path / "second")
        with pytest.raises(UsageError, match="cannot listen on"):
            await second.start(parse(first.address))
        third = StreamBroker(tmp_path / "second")
        await third.start(ANYWHERE)
        await third.close()
        await first.close()

    asyncio.run(main())


def test_a_failed_disk_ends_the_broker_with_one_line(tmp_path: Path) -> None:
    async def main() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        broker.directory.on_failed(OSError(5, "Input/output error"))
        with pytest.raises(PenstockError, match=r"failed: .*Input/output error: check it"):
            await asyncio.wait_for(broker.wait(), 20)
        await broker.close()
        broker.directory.close()

    asyncio.run(main())
