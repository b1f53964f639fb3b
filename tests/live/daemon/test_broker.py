"""Brokers on loopback: clients by address, neighbours by name, restarts and bounds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.live.daemon.broker import RunningBroker, serve
from penstock.live.net.address import port_of, sockaddr_of
from penstock.live.net.pump import Pump
from penstock.live.network_config import Agreement
from penstock.overlay.client import OverlayClient
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.data import Data
from tests.frames import data
from tests.live.loopback import QUICK, run, until


class Bare:
    """A client without a transport, on a socket of its own."""

    def __init__(self, broker: str, epoch: int = 1, agreement: Agreement = QUICK) -> None:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(sockaddr_of(broker))
        self.got: list[int] = []
        self.client = OverlayClient(
            broker, epoch, network=agreement.network, settings=agreement.overlay
        )
        self.pump = Pump(sock, self.client, deliver=self._take)
        self.pump.call(lambda client, now: client.link_up(now=now))

    def _take(self, frame: Data) -> None:
        self.got.append(frame.seq)

    async def heard(self) -> None:
        await until(lambda: self.client.is_connected)

    def subscribe(self, text: str) -> None:
        self.pump.call(lambda client, now: client.subscribe(1, parse(text), now=now))

    def publish(self, seq: int, **attributes: int) -> None:
        frame = data(seq, attributes)
        self.pump.call(lambda client, now: client.publish(frame, now=now))


@asynccontextmanager
async def bare(broker: str, *, agreement: Agreement = QUICK) -> AsyncIterator[Bare]:
    client = Bare(broker, agreement=agreement)
    try:
        yield client
    finally:
        client.pump.close()


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[RunningBroker, RunningBroker]]:
    """Two brokers that know each other and have heard of each other."""
    async with (
        serve("127.0.0.1:0", number=1, agreement=QUICK) as one,
        serve("127.0.0.1:0", number=2, neighbours=[one.address], agreement=QUICK) as two,
    ):
        await one.add_neighbour(two.address)
        await until(lambda: one.machine.reachable == [2] and two.machine.reachable == [1])
        assert (one.neighbours, two.neighbours) == ({two.address: True}, {one.address: True})
        yield one, two


def test_two_clients_of_one_broker() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            bare(broker.address) as one,
            bare(broker.address) as other,
        ):
            await one.heard()
            await other.heard()
            one.subscribe("x < 3")
            await until(broker.machine.advertised)
            for seq in range(5):
                other.publish(seq, x=seq)
            await until(lambda: len(one.got) == 3)
            assert one.got == [0, 1, 2]
            assert other.got == []
            assert broker.counters["broker"]["delivered"] == 3
            assert broker.counters["socket"]["corrupt"] == 0

    run(program())


def test_a_message_crosses_two_brokers() -> None:
    async def program() -> None:
        async with pair() as (one, two), bare(one.address) as here, bare(two.address) as there:
            await here.heard()
            await there.heard()
            there.subscribe("x = 1")
            await until(lambda: one.machine.advertised_by(2))
            here.publish(7, x=1)
            here.publish(8, x=2)
            here.publish(9, x=1)
            await until(lambda: len(there.got) == 2)
            assert there.got == [7, 9]
            assert here.got == []
            assert one.counters["broker"]["forwarded"] == 2

    run(program())


def test_a_broker_that_nobody_named_is_not_listened_to() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", number=1, agreement=QUICK) as one,
            serve("127.0.0.1:0", number=2, neighbours=[one.address], agreement=QUICK) as two,
        ):
            await until(lambda: one.counters["broker"]["stranger"])
            assert (one.machine.reachable, two.machine.reachable) == ([], [])
            assert one.machine.sizes()["clients"] == 0

    run(program())


def test_a_broker_is_no_neighbour_of_itself() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with pytest.raises(UsageError, match="no neighbour of itself: leave udp://"):
                await broker.add_neighbour(f"udp://{broker.address}")
            assert broker.neighbours == {}

    run(program())


def test_a_neighbour_with_our_number_is_counted_and_no_neighbour() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", number=1, agreement=QUICK) as one,
            serve("127.0.0.1:0", number=1, neighbours=[one.address], agreement=QUICK) as two,
        ):
            await one.add_neighbour(two.address)
            await until(lambda: one.counters["broker"]["own_number"])
            assert one.neighbours == {two.address: False}
            assert one.counters["broker"]["malformed"] == 0

    run(program())


def test_a_client_of_another_network_is_not_answered() -> None:
    async def program() -> None:
        other = Agreement(name="other", overlay=QUICK.overlay)
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            bare(broker.address, agreement=other) as stranger,
        ):
            await until(lambda: broker.counters["broker"]["foreign"] > 1)
            assert not stranger.client.is_connected
            assert broker.machine.sizes()["clients"] == 0

    run(program())


def test_a_client_that_falls_silent_is_forgotten() -> None:
    async def program() -> None:
        overlay = replace(
            QUICK.overlay, compare_ns=20 * MILLISECOND, client_dead_ns=300 * MILLISECOND
        )
        agreement = Agreement(name="test", overlay=overlay)
        async with serve("127.0.0.1:0", agreement=agreement) as broker:
            async with bare(broker.address, agreement=agreement) as client:
                await client.heard()
                client.subscribe("x = 1")
                await until(broker.machine.advertised)
                await until(lambda: broker.machine.sizes()["clients"] == 1)
            await until(lambda: not broker.machine.sizes()["clients"])
            await until(lambda: not broker.machine.advertised())

    run(program())


def test_more_clients_than_the_bound_are_refused_and_counted() -> None:
    async def program() -> None:
        agreement = Agreement(name="test", overlay=replace(QUICK.overlay, clients_max=1))
        async with (
            serve("127.0.0.1:0", agreement=agreement) as broker,
            bare(broker.address, agreement=agreement) as first,
        ):
            await first.heard()
            async with bare(broker.address, agreement=agreement):
                await until(lambda: broker.counters["broker"]["clients_overflow"])
                assert broker.machine.sizes()["clients"] == 1

    run(program())


def test_a_restarted_broker_is_told_again() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as first:
            address, epoch = first.address, first.machine.epoch
            client, publisher = Bare(address), Bare(address)
            await client.heard()
            client.subscribe("x = 1")
            await until(first.machine.advertised)
        async with serve(address, agreement=QUICK) as second:
            assert second.machine.epoch != epoch
            await until(second.machine.advertised)
            publisher.publish(3, x=1)
            await until(lambda: client.got)
            assert client.got == [3]
        client.pump.close()
        publisher.pump.close()

    run(program())


def test_a_restarted_neighbour_is_heard_over_its_former_self() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", number=1, agreement=QUICK) as one:
            async with serve("127.0.0.1:0", number=2, agreement=QUICK) as two:
                address = two.address
                await one.add_neighbour(two.address)
                await two.add_neighbour(one.address)
                await until(lambda: one.machine.reachable == [2])
            async with serve(address, number=2, neighbours=[one.address], agreement=QUICK) as again:
                await until(lambda: again.machine.reachable == [1])
                async with bare(again.address) as there, bare(one.address) as here:
                    await there.heard()
                    await here.heard()
                    there.subscribe("x = 1")
                    await until(lambda: one.machine.advertised_by(2))
                    here.publish(5, x=1)
                    await until(lambda: there.got)

    run(program())


def test_noise_stops_no_broker() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noisy:
                for size in range(0, 1400, 100):
                    noisy.sendto(b"\x01\x10" + b"\xff" * size, sockaddr_of(broker.address))
                async with bare(broker.address) as client:
                    await client.heard()
            assert broker.counters["socket"]["corrupt"] == 14

    run(program())


def test_an_address_that_is_taken_is_one_line() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0") as broker:
            with pytest.raises(UsageError, match=f"cannot listen at {broker.address}: address al"):
                async with serve(broker.address):
                    pass

    run(program())


def test_it_runs_until_it_is_closed() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0") as broker:
            waiting = asyncio.create_task(broker.wait())
            await asyncio.sleep(0)
            assert not waiting.done()
        await waiting

    run(program())


def test_it_serves_over_ipv6() -> None:
    async def program() -> None:
        try:
            async with serve("[::1]:0", agreement=QUICK) as broker:
                assert broker.address.startswith("[::1]:")
                sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
                sock.connect(sockaddr_of(broker.address))
                client = OverlayClient(port_of(sock.getpeername()), 1, network=QUICK.network)
                pump = Pump(sock, client)
                pump.call(lambda client, now: client.link_up(now=now))
                await until(lambda: client.is_connected)
                pump.close()
        except UsageError as error:
            pytest.skip(str(error))

    run(program())


def test_the_usual_periods_are_the_overlays() -> None:
    assert Agreement().overlay == OverlaySettings(hello_ns=SECOND)
