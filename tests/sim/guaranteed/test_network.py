"""Whole paths of guaranteed streams: published, stored, confirmed, delivered, through crashes."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

ORDERS = {0xA: "orders"}


def test_one_broker_stores_confirms_and_delivers() -> None:
    network = StreamNetwork(1)
    network.add_broker("b", streams=ORDERS)
    writer = Writer(network, "writer", "b")
    reader = ReadingProgram(network, "reader", "b", stream="orders", durable="billing")
    network.run(100 * MILLISECOND)
    reader.open()
    for n in range(10):
        writer.publish("orders", {"n": n})
    network.run(SECOND)
    assert len(writer.confirmed) == 10
    assert reader.values() == [*range(10)]
    assert network.brokers["b"].machine.is_idle


def test_after_a_crash_everything_goes_on_where_it_was() -> None:
    network = StreamNetwork(2)
    network.add_broker("b", streams=ORDERS)
    writer = Writer(network, "writer", "b")
    reader = ReadingProgram(network, "reader", "b", stream="orders", durable="billing")
    network.run(100 * MILLISECOND)
    reader.open()
    for n in range(100):
        writer.publish("orders", {"n": n})
        network.run(3 * MILLISECOND)
        if n % 25 == 10:
            network.crash("b")
            network.run(50 * MILLISECOND)
            network.restart("b")
            for application in (writer, reader):
                application.client.connect()
    network.run(3 * SECOND)
    assert len(writer.confirmed) == 100
    assert reader.values() == [*range(100)]
    assert network.brokers["b"].machine.is_idle


@pytest.mark.parametrize("with_codec", [False, True])
def test_three_brokers_and_a_cut_link(with_codec: bool) -> None:
    network = StreamNetwork(3, with_codec=with_codec)
    network.add_broker("p", streams=ORDERS)
    network.add_broker("i", parents=1)
    network.add_broker("s", parents=1)
    network.connect("i", "p")
    network.connect("s", "i")
    network.run(100 * MILLISECOND)
    writer = Writer(network, "writer", "p")
    reader = ReadingProgram(network, "reader", "s", stream="orders", durable="billing")
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    for n in range(300):
        writer.publish("orders", {"n": n})
        network.run(5 * MILLISECOND)
        if n == 50:
            network.cut("s", "i")
        if n == 150:
            network.connect("s", "i")
        if n == 200:
            network.crash("i")
        if n == 220:
            network.restart("i")
            network.connect("i", "p")
            network.connect("s", "i")
    network.run(5 * SECOND)
    assert len(writer.confirmed) == 300
    assert reader.values() == [*range(300)]
    assert all(broker.machine.is_idle for broker in network.brokers.values())
