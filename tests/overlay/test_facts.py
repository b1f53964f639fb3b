"""A broker that tells: every message it handles, in the words of the trace, changing nothing."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, get_args

import pytest

from penstock.kernel.machine import Record, Send
from penstock.overlay.broker import Broker
from penstock.overlay.counters import Count
from penstock.overlay.facts import RoutingAction, RoutingDecision, RoutingDropReason
from penstock.trace.fates import DropReason, HopDecision
from penstock.wire.frames.base import OverlayFrame, TrafficClass, TransportFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from tests.frames import data
from tests.overlay import net as overlay_net
from tests.overlay.net import Net


class Teller(Broker):
    """Tells, and keeps what it put out; a driver that knows no records sees frames only."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, records_decisions=True, **named)
        self.outputs: list[Send[OverlayFrame] | Record] = []

    def poll(self) -> Send[OverlayFrame] | None:
        while (output := super().poll()) is not None:
            self.outputs.append(output)
            if isinstance(output, Send):
                return output
        return None

    @property
    def told(self) -> list[RoutingDecision]:
        rows = [output.row for output in self.outputs if isinstance(output, Record)]
        assert all(isinstance(row, RoutingDecision) for row in rows)
        return [row for row in rows if isinstance(row, RoutingDecision)]


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Net:
    """B1 - B2 - {B3, B4}, a client on each; all brokers tell."""
    monkeypatch.setattr(overlay_net, "Broker", Teller)
    return fork()


def fork() -> Net:
    net = Net()
    for left, right in (("1", "2"), ("2", "3"), ("2", "4")):
        net.link(left, right)
    net.start("1", "2", "3", "4")
    for name, broker in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")):
        net.client(name, broker)
    net.run()
    return net


def teller(net: Net, name: str) -> Teller:
    broker = net.brokers[name]
    assert isinstance(broker, Teller)
    return broker


def said(net: Net, name: str) -> list[tuple[str, str | None, str | None]]:
    return [(told.action, told.towards, told.reason) for told in teller(net, name).told]


def packet(
    frame: TransportFrame, destinations: tuple[int, ...], *, counter: int = 7, ttl: int = 9
) -> Packet:
    return Packet(
        id=PacketId(1, 1, counter),
        traffic=TrafficClass.DATA,
        destinations=destinations,
        carried=CarriedFrame(frame),
        ttl=ttl,
    )


def test_the_words_are_those_of_the_trace() -> None:
    assert list(get_args(RoutingAction)) == list(HopDecision)
    assert set(get_args(RoutingDropReason)) <= set(DropReason)
    # One word each: the counter, and the reason.
    assert set(get_args(RoutingDropReason)) <= set(Count)


def test_a_message_is_told_from_its_first_broker_to_its_last(net: Net) -> None:
    for name in "acd":
        net.subscribe(name, 1, "x = 1")
    net.run()
    message = net.publish("a", {"x": 1})
    net.run()
    assert said(net, "1") == [
        ("entered", None, None),
        ("handed_over", "a", None),
        ("forwarded", "2", None),
    ]
    assert said(net, "2") == [("forwarded", "3", None), ("forwarded", "4", None)]
    assert said(net, "3") == [("handed_over", "c", None)]
    assert said(net, "4") == [("handed_over", "d", None)]
    told = [each for name in "1234" for each in teller(net, name).told]
    assert {getattr(each.frame, "id", None) for each in told} == {message}
    # No packet before the message leaves its first broker; the same one all the way from there.
    assert [each.packet_id for each in told] == [None, None] + [PacketId(1, 1, 1)] * 5


def test_what_nobody_wants_is_filtered(net: Net) -> None:
    net.publish("a", {"x": 1})
    assert said(net, "1") == []
    net.run()
    assert said(net, "1") == [("entered", None, None), ("filtered", None, None)]


def test_what_no_exact_filter_matches_is_told_where_it_came_to(net: Net) -> None:
    net.subscribe("c", 1, "x < 5")
    net.run()
    net.publish("a", {"x": 7})
    net.run()
    assert said(net, "3") == [("no_match", None, None)]
    assert teller(net, "3").told[0].packet_id == PacketId(1, 1, 1)


def test_drops_are_told_with_their_reason(net: Net) -> None:
    frame = data(9, {"x": 1}, pub=9)
    broker = net.brokers["2"]
    net.inject("1", "2", packet(frame, (3,)))
    net.inject("1", "2", packet(frame, (3,)))
    net.inject("1", "2", packet(frame, (3, 4), counter=8, ttl=1))
    net.inject("1", "2", packet(frame, (4, 77), counter=9))
    assert said(net, "2") == [
        ("forwarded", "3", None),
        ("dropped", None, "duplicate"),
        ("dropped", None, "ttl"),
        ("dropped", None, "no_route"),
        ("forwarded", "4", None),
    ]
    assert [told.packet_id.counter for told in teller(net, "2").told if told.packet_id] == [
        7, 7, 8, 9, 9,
    ]  # fmt: skip
    # Decisions are of copies; counters are of destinations, as ever.
    assert [broker.counters[count] for count in (Count.DUPLICATE, Count.TTL, Count.NO_ROUTE)] == [
        1, 2, 1,
    ]  # fmt: skip


def test_a_way_lost_at_the_first_broker_is_told(net: Net) -> None:
    net.subscribe("c", 1, "x = 1")
    net.run()
    net.cut("1", "2")
    net.publish("a", {"x": 1})
    net.run()
    assert said(net, "1") == [("entered", None, None), ("dropped", None, "no_route")]


def test_a_frame_that_makes_no_sense_has_no_life_to_tell(net: Net) -> None:
    net.inject("a", "1", Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(TransportFrame())))
    assert said(net, "1") == []
    assert net.brokers["1"].counters[Count.MALFORMED] == 1


def test_a_request_is_told_like_a_message(net: Net) -> None:
    net.subscribe("c", 1, "x = 1", TrafficClass.REQUEST)
    net.run()
    net.publish("a", {"x": 1}, TrafficClass.REQUEST)
    net.run()
    assert said(net, "1") == [("entered", None, None), ("forwarded", "2", None)]
    assert said(net, "3") == [("handed_over", "c", None)]


def test_a_decision_comes_before_the_frame_it_is_about(net: Net) -> None:
    for name in "acd":
        net.subscribe(name, 1, "x = 1")
    net.run()
    net.publish("a", {"x": 1})
    net.run()
    for name in "1234":
        announced: Counter[tuple[str, str | None]] = Counter()
        for output in teller(net, name).outputs:
            if isinstance(output, Record):
                assert isinstance(output.row, RoutingDecision)
                announced[output.row.action, output.row.towards] += 1
            elif isinstance(output.frame, Packet | Notify):
                what = "forwarded" if isinstance(output.frame, Packet) else "handed_over"
                announced[what, output.port] -= 1
                assert announced[what, output.port] >= 0


def busy(net: Net, seed: int) -> None:
    rng = Random(seed)
    for name in "bcd":
        net.subscribe(name, 1, f"x < {rng.randrange(6)}")
    net.run()
    for number in range(60):
        if number == 30:
            net.cut("2", "4")
        net.publish(rng.choice("abcd"), {rng.choice("xy"): rng.randrange(6)})
        net.run(rng.randrange(3_000_000))
    net.run()


@pytest.mark.parametrize("seed", range(3))
def test_telling_changes_nothing_and_agrees_with_the_counters(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = fork()
    monkeypatch.setattr(overlay_net, "Broker", Teller)
    telling = fork()
    for each in (quiet, telling):
        busy(each, seed)
    assert telling.sent == quiet.sent
    assert telling.received == quiet.received
    words = {"entered": "published", "handed_over": "delivered"}
    for name, broker in telling.brokers.items():
        assert broker.counters == quiet.brokers[name].counters
        told: Counter[str] = Counter(
            each.reason or each.action for each in teller(telling, name).told
        )
        same = ("entered", "forwarded", "handed_over", "filtered", "no_match", "duplicate")
        for word in same:
            assert told[word] == broker.counters[words.get(word, word)]
        assert (told["no_route"] > 0) == (broker.counters["no_route"] > 0)


def test_a_broker_tells_nothing_unless_asked() -> None:
    net = fork()
    net.subscribe("c", 1, "x = 1")
    net.run()
    broker = net.brokers["3"]
    broker.receive(packet(data(9, {"x": 1}, pub=9), (3,)), via="2", now=net.now)
    outputs = []
    while (output := broker.poll()) is not None:
        outputs.append(output)
    assert [type(output) for output in outputs] == [Send]
