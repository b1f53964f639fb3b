"""Real processes and real `kill -9`: what was confirmed is delivered, once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import penstock.streams
from tests.live.guaranteed.broker_process import BrokerProcess

KILLS = 5


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "broker")
    yield process
    process.kill()


async def publish_while_killing(brokers: list[BrokerProcess], kills: int) -> list[int]:
    """Publishes numbers until all kills are done; returns those that were confirmed, in order."""
    rng = Random(kills)
    confirmed: list[int] = []
    is_done = asyncio.Event()

    async def publish() -> None:
        async with penstock.streams.connect(brokers[0].address, name="writer") as node:
            orders = node.stream("orders", create=True)
            number = 0
            while not is_done.is_set():
                pending = []
                for _ in range(20):
                    pending.append((number, await orders.submit({"n": number})))
                    number += 1
                for sent, each in pending:
                    await each
                    confirmed.append(sent)

    writer = asyncio.create_task(publish())
    for _ in range(kills):
        await asyncio.sleep(rng.uniform(0.05, 0.4))
        victim = rng.choice(brokers)
        victim.kill()
        victim.start()
    await asyncio.sleep(0.2)
    is_done.set()
    await asyncio.wait_for(writer, 60)
    return confirmed


async def read_all(address: str, expected: int) -> list[int]:
    """All numbers of the stream, as a durable subscription gets them."""
    got: list[int] = []
    async with (
        penstock.streams.connect(address) as node,
        node.stream("orders").subscribe(durable="billing", start="first") as inbox,
    ):
        while len(got) < expected:
            messages = await inbox.receive(1_000, wait="10s")
            assert messages, f"{len(got)} of {expected}"
            got += [message["n"] for message in messages]
        got += [message["n"] for message in await inbox.receive(100, wait="300ms")]
    return got


def test_a_broker_that_is_killed_loses_nothing_and_doubles_nothing(broker: BrokerProcess) -> None:
    async def main() -> None:
        confirmed = await publish_while_killing([broker], KILLS)
        assert confirmed == [*range(len(confirmed))]
        assert await read_all(broker.address, len(confirmed)) == confirmed

    asyncio.run(main())


def test_a_reader_behind_a_broker_that_is_killed_gets_everything_once(tmp_path: Path) -> None:
    brokers = [BrokerProcess(tmp_path / "top")]
    brokers.append(BrokerProcess(tmp_path / "edge", parent=brokers[0].address))

    async def main() -> None:
        async with penstock.streams.connect(brokers[0].address) as node:
            await node.create_stream("orders")
        got: list[int] = []

        async def read() -> None:
            async with penstock.streams.connect(brokers[1].address) as node:
                inbox = await node.stream("orders").subscribe(durable="billing", start="first")
                async for message in inbox:
                    got.append(message["n"])

        reader = asyncio.create_task(read())
        confirmed = await publish_while_killing(brokers, KILLS)
        for _ in range(600):
            if len(got) >= len(confirmed):
                break
            await asyncio.sleep(0.05)
        reader.cancel()
        assert got == confirmed == [*range(len(confirmed))]

    try:
        asyncio.run(main())
    finally:
        for process in brokers:
            process.kill()
