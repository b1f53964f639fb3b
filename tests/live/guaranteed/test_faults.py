"""Faults that are no deaths: a stopped host, a full disk, a stream that nobody reads."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from penstock import streams
from tests.live.guaranteed.processes.network import Network, network
from tests.live.guaranteed.processes.process import BrokerProcess
from tests.live.loopback import DEADLINE_S

PAYLOAD = bytes(50_000)


def stop_a_host(net: Network, seconds: float) -> None:
    """Stops the broker of a reader under load: others go on, and it catches up."""
    net.broker("top")
    net.broker("edge", "top")
    net.reader("far", "edge")
    net.reader("near", "top", keeps_checkpoints=True)
    net.publisher("top", per_s=400)
    net.wait_busy()
    net.brokers["edge"].suspend()
    before = net.confirmed
    # As long as it takes others to give it up.
    time.sleep(seconds)
    net.brokers["edge"].resume()
    assert net.confirmed > before, "nobody else was kept waiting"
    assert net.finish() > 0


def test_a_host_that_stops_for_a_while_misses_nothing(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        stop_a_host(net, 4.0)


@pytest.mark.soak
def test_a_host_that_stops_for_long_misses_nothing(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        stop_a_host(net, 30.0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, with 64 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(path)]
    try:
        is_mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        is_mounted = False
    if not is_mounted:
        pytest.skip("a disk that can be filled needs the right to mount one")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path: Path) -> None:
    """Takes all the room that a disk has."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass


async def until_taken(publish: Callable[[], Awaitable[object]]) -> None:
    """Publishes again until it is not refused."""
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            await publish()
        except streams.RefusedError:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)
        else:
            return


@pytest.mark.parametrize("is_filled_by", ["its own log", "another"])
def test_a_full_disk_refuses_and_goes_on_when_it_is_freed(
    tmp_path: Path, small_disk: Path, is_filled_by: str
) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(32_000_000))
    broker = BrokerProcess("full", tmp_path, store=small_disk / "broker")
    broker.start()
    broker.wait_ready()
    stored: list[int] = []

    async def publish(orders: streams.Stream, count: int) -> None:
        for _ in range(count):
            number = len(stored)
            await orders.publish({"n": number}, PAYLOAD, publication=number + 1)
            stored.append(number)

    async def main() -> None:
        async with streams.connect(broker.address, name="writer") as node:
            orders = node.stream("orders", create=True)
            await publish(orders, 20)
            if is_filled_by == "another":
                fill(small_disk / "more")
            with pytest.raises(streams.RefusedError, match="disk is full") as caught:
                await publish(orders, 2_000)
            assert caught.value.reason == "disk_full"
            # What is there can be read; a durable name could not be stored.
            async with orders.subscribe(start="first") as inbox:
                assert (await anext(inbox))["n"] == 0
            filler.unlink()
            await until_taken(lambda: publish(orders, 50))
            got: list[int] = []
            async with orders.subscribe(durable="d", start="first") as inbox:
                while len(got) < len(stored):
                    got += [m["n"] for m in await inbox.receive(1_000, wait="10s")]
            assert got == stored

    try:
        asyncio.run(asyncio.wait_for(main(), 60))
        assert broker.stop() == 0
    finally:
        broker.kill()


def test_a_stream_that_is_full_takes_more_when_it_is_read(tmp_path: Path) -> None:
    broker = BrokerProcess("broker", tmp_path)
    broker.start()
    broker.wait_ready()

    async def main() -> None:
        async with streams.connect(broker.address, name="writer") as node:
            await node.request("create", {"stream": "orders", "retention": {"size_bytes": 4 << 20}})
            orders = node.stream("orders")
            async with orders.subscribe(durable="billing", start="first"):
                pass
            stored = 0

            async def fill_up() -> None:
                nonlocal stored
                while True:
                    await orders.publish({"n": stored}, PAYLOAD)
                    stored += 1

            with pytest.raises(streams.RefusedError, match="wait for 'billing' at b") as caught:
                await fill_up()
            assert caught.value.reason == "stream_full"
            assert stored > 10
            got: list[int] = []
            async with orders.subscribe(durable="billing") as inbox:
                while len(got) < stored:
                    got += [m["n"] for m in await inbox.receive(1_000, wait="10s")]
            await until_taken(lambda: orders.publish({"n": stored}, PAYLOAD))
            async with orders.subscribe(durable="billing") as inbox:
                got.append((await anext(inbox))["n"])
            assert got == [*range(stored + 1)]

    try:
        asyncio.run(asyncio.wait_for(main(), 60))
        assert broker.stop() == 0
        assert "broker ends: orders has" in broker.said()
    finally:
        broker.kill()
