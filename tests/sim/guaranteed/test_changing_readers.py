"""Subscriptions that end and begin in one read, while filters are on their way to the pubend."""

from __future__ import annotations

from penstock.guaranteed.broker import AnyFrame
from penstock.guaranteed.stream_item import EVERYTHING, NOTHING
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.client import Credit, CreditKind
from penstock.wire.frames.guaranteed.subscription import Attach, AttachFlags, Detach, Position

from .line import PUBEND, Line


def attach(number: int, *positions: Position) -> list[AnyFrame]:
    """A subscription without a name that is within its credit all the time."""
    subscription = Attach(
        subscription=number,
        durable="",
        streams=("orders",),
        predicate=EVERYTHING,
        start=Start(StartKind.NOW),
        flags=AttachFlags.NONE,
        attempts_max=5,
        expire_s=0,
        positions=positions,
    )
    credit = Credit(kind=CreditKind.SUBSCRIPTION, number=number, messages=1_000, size_bytes=10**6)
    return [subscription, credit]


def test_a_reader_that_begins_as_the_last_one_ends_misses_nothing() -> None:
    line = Line(5)
    host = line.network.brokers["s"]
    client = line.network.add_client("c", "s", lambda *_: None)
    client.connect()
    line.run(50)
    host.arrive(client.port, attach(1))
    line.run(1_000)
    line.publish(3)
    reading = host.machine.host.readings[PUBEND]
    (first,) = reading.feeds
    assert first.is_live
    again = attach(2, Position(PUBEND, first.position - 1))
    host.arrive(client.port, [Detach(subscription=1, is_clean=True), *again])
    line.publish(30, every_ms=1)
    line.run(5_000)
    (second,) = reading.feeds
    assert first.subscription.handed_out + second.subscription.handed_out == 33
    assert line.is_idle


def test_to_a_host_without_readers_nothing_is_sent_but_silence() -> None:
    line = Line(6)
    reader = line.reader("r")
    line.publish(5)
    line.run(500)
    reader.close()
    line.run(1_000)
    host = line.network.brokers["s"].machine
    received = host.host.readings[PUBEND].received
    line.publish(20)
    line.run(1_000)
    assert host.host.readings[PUBEND].received == received
    for name in ("i", "s"):
        assert line.network.brokers[name].machine.relays[PUBEND].asked == NOTHING
    reader.open()
    line.run(2_000)
    assert reader.values() == [*range(5, 25)]
