"""Clients that say to have read what was never published: only they are refused."""

from __future__ import annotations

import pytest

from penstock.guaranteed.client import ClientFact, Ended, SubscriptionOptions
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.sim.checkers.guaranteed.trim import cursors_on_disk
from penstock.sim.guaranteed.application import FIRST
from penstock.wire.frames.guaranteed.acknowledgement import ClientAck
from penstock.wire.frames.guaranteed.base import TICK_MAX
from penstock.wire.frames.guaranteed.subscription import Position

from .line import PUBEND, Line


def subscribe_at(line: Line, tick: int, *, durable: str = "", broker: str = "s") -> list[Ended]:
    """A program that comes with a position of its own; returns what ends its subscription."""
    ended: list[Ended] = []

    def on_fact(_client: object, fact: ClientFact) -> None:
        if isinstance(fact, Ended):
            ended.append(fact)

    client = line.network.add_client("wrong", broker, on_fact)
    client.connect()
    options = SubscriptionOptions(
        streams=("orders",),
        predicate=EVERYTHING,
        durable=durable,
        start=FIRST,
        positions=(Position(PUBEND, tick),),
    )
    client.call(lambda machine: machine.subscribe(options))
    line.run(500)
    return ended


@pytest.mark.parametrize("durable", ["", "new", "known"])
@pytest.mark.parametrize("tick", [TICK_MAX, TICK_MAX - (3_000 << 20), 2**63])
def test_a_position_that_the_pubend_has_not_got_to_is_refused(tick: int, durable: str) -> None:
    line = Line(31)
    good = line.reader("good")
    line.reader("known").close()
    line.publish(5)
    line.run(500)
    [ended] = subscribe_at(line, tick, durable=durable)
    assert ended.refused.reason == "rolled_back"
    assert f"not got to tick {tick}" in ended.refused.text
    host = line.network.brokers["s"].machine.host
    assert sorted(host.durables) == ["good", "known"]
    line.network.crash("s")
    line.network.restart("s")
    line.connect()
    line.publish(5)
    # The host waits for the other one, which does not come back.
    line.run(4_000)
    assert good.values() == [*range(10)]
    assert not good.life.ended
    assert line.is_idle


def test_a_client_from_another_host_goes_on_where_it_was_although_its_new_host_knows_less() -> None:
    line = Line(32)
    line.network.add_broker("t", parents=1)
    line.network.connect("t", "i")
    line.run(5_000)
    line.publish(1)
    line.run(100)
    [position] = line.writer.confirmed.values()
    assert not line.network.brokers["t"].machine.host.readings[PUBEND].evidence
    assert not subscribe_at(line, position.tick, broker="t")
    [subscription] = line.network.brokers["t"].machine.host._subscriptions.values()
    assert subscription.is_attached
    assert subscription.handed_out == 0
    line.publish(1)
    line.run(500)
    assert subscription.handed_out == 1


def test_an_acknowledgement_of_what_was_not_handed_out_does_not_count() -> None:
    line = Line(33)
    reader = line.reader("r", is_paused=True)
    line.publish(3)
    line.run(500)
    reader.fail("no")
    line.run(100)
    wrong = Position(PUBEND, 2**63)
    frame = ClientAck(subscription=reader._subscription, positions=(wrong,), is_awaited=True)
    line.network.brokers["s"].arrive(reader.client.port, [frame])
    line.run(3_000)
    # Else the host would not remember that the first one has failed.
    assert reader.attempts()[:4] == [1, 1, 1, 2]
    assert cursors_on_disk(line.network)["s"][PUBEND] < 2**62
