"""Frames that are well formed and make no sense: they end nothing but what they are about."""

from __future__ import annotations

from penstock.guaranteed.settings import BrokerSettings, LinkSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_broker import SimBroker
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import TICK_MAX, Serial, Start, StartKind
from penstock.wire.frames.guaranteed.client import Ask
from penstock.wire.frames.guaranteed.lag import LagRequest
from penstock.wire.frames.guaranteed.publication import Publish
from penstock.wire.frames.guaranteed.subscription import Attach, AttachFlags, Fail, Position


def started() -> tuple[StreamNetwork, SimBroker, str]:
    """A broker with two messages in a stream, a child, and the port of a client."""
    network = StreamNetwork(1, with_codec=True)
    broker = network.add_broker("b1", streams={7: "orders"})
    network.add_broker("child", parents=1)
    network.connect("child", "b1")
    client = network.add_client("c", "b1", lambda *_: None)
    client.connect()
    network.run(SECOND)
    for _ in range(2):
        client.call(lambda client: client.publish("orders", write_body({"n": 1}, b"x")))
    network.run(SECOND)
    return network, broker, client.port


def test_a_failure_of_a_message_that_cannot_be() -> None:
    network, broker, port = started()
    attach = Attach(
        subscription=1,
        durable="",
        streams=("orders",),
        predicate=EVERYTHING,
        start=Start(StartKind.FIRST),
        flags=AttachFlags.NONE,
        attempts_max=5,
        expire_s=0,
        positions=(Position(7, 5),),
    )
    broker.arrive(port, [attach])
    network.run(SECOND)
    for tick in (0, TICK_MAX):
        broker.arrive(port, [Fail(subscription=1, pubend=7, tick=tick, reason="")])
        network.run(SECOND)
    assert broker.machine.clients == 1


def test_a_lag_behind_a_tick_that_is_yet_to_come() -> None:
    network, broker, port = started()
    body = write_body({"n": 1}, b"x")
    # Messages that are stored while the log is read count for neither end.
    for number in range(1, 50):
        asked = LagRequest(pubend=7, host="child", serial=Serial(1, number), tick=TICK_MAX)
        broker.arrive(port, [Publish(stream="orders", ids=(number,), bodies=(body,))])
        broker.arrive("child", [asked])
        network.run(MILLISECOND)
    network.run(SECOND)
    assert broker.machine.clients == 1


def test_requests_of_a_client_that_reads_no_answer_have_an_end() -> None:
    settings = BrokerSettings(link=LinkSettings(client_unread_bytes=20_000))
    network = StreamNetwork(1, settings=settings)
    broker = network.add_broker("b1", streams={7: "orders"})
    client = network.add_client("c", "b1", lambda *_: None)
    client.connect()
    network.run(SECOND)
    port = client.port
    queue = broker.machine.queues[port]
    # Its connection takes nothing more.
    queue.room_bytes = 0
    for number in range(1_000):
        if port in broker.machine.queues:
            broker.arrive(port, [Ask(number=number, verb="list", arguments=b"{}")])
            network.run(MILLISECOND)
    assert queue.queue_bytes < 21_000
    assert not broker.machine.clients
