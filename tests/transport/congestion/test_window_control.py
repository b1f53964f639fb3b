"""Publishers and receivers with windows: how fast it gets, who acknowledges, and who lies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.settings import DEFAULT, WINDOW
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import encode_round_trip
from tests.transport.congestion.scene import (
    ONE,
    OTHER,
    PUBLISHER,
    Lossy,
    Upstream,
    bus_of,
    fair_rate,
    publish,
    received,
)
from tests.transport.congestion.sender.test_sender import OPEN, Line
from tests.transport.recovery.bus import Bus

CONTROL = replace(WINDOW, policy="drop-oldest", queue_max=50)
RATE = replace(DEFAULT, policy="drop-oldest", queue_max=50)
WINDOWED = replace(OPEN, law="window")


def flows(bus: Bus) -> list[ControlledFlow]:
    congestion = bus.endpoints[PUBLISHER].congestion
    assert congestion is not None
    return list(congestion.controlled_flows)


def one_flow(bus: Bus) -> ControlledFlow:
    (flow,) = flows(bus)
    return flow


def has_window(flow: ControlledFlow) -> bool:
    return flow.window is not None and flow.window.is_active


@pytest.mark.parametrize(("loss", "delay_ms"), [(0.01, 50), (0.03, 25), (0.05, 100)])
def test_in_the_long_run_it_gets_what_a_connection_would(loss: float, delay_ms: int) -> None:
    bus = bus_of(CONTROL, "a = 1", delay_ms=delay_ms, loses=Lossy(loss, ONE))
    publish(bus, 250, 10, 1)
    rate = received(bus, lambda: publish(bus, 250, 40, 1))[ONE, 1] / 40
    assert rate == pytest.approx(fair_rate(loss, 2 * delay_ms / 1_000), rel=0.25)
    window = one_flow(bus).window
    assert window is not None
    assert window.is_active
    assert window.rtt_ns == pytest.approx(2 * delay_ms * MILLISECOND, rel=0.01)


def test_who_gets_something_else_keeps_its_rate() -> None:
    bus = bus_of(CONTROL, "a = 1", "a >= 1", delay_ms=50, loses=Lossy(0.05, ONE))
    publish(bus, 200, 6, 1, 2)
    got = received(bus, lambda: publish(bus, 200, 6, 1, 2))
    assert got[ONE, 1] < 0.4 * 1_200
    assert got[OTHER, 2] > 0.95 * 1_200


def test_before_anybody_complains_nothing_is_acknowledged() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND)
    bus.add(PUBLISHER, None, congestion=CONTROL)
    bus.add(ONE, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 100, 5, 1)
    assert not bus.frames(Ack)
    assert len(bus.deliveries[ONE]) > 490


def test_the_one_who_bears_least_acknowledges() -> None:
    lossy, worse = Lossy(0.01, ONE), Lossy(0.0, OTHER)
    bus = Bus(
        delay_ns=25 * MILLISECOND,
        loses=lambda *frame: lossy(*frame) or worse(*frame),
    )
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    for me in (ONE, OTHER):
        bus.add(me, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 400, 5, 1)
    assert one_flow(bus).clr == ONE
    worse.share = 0.08
    slow = received(bus, lambda: publish(bus, 400, 10, 1))[ONE, 1]
    assert one_flow(bus).clr == OTHER
    fast = fair_rate(0.01, 0.05) * 10
    assert slow < 0.7 * fast


def test_two_who_are_alike_do_not_take_turns() -> None:
    bus = Bus(delay_ns=25 * MILLISECOND, loses=Lossy(0.03, ONE, OTHER))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    for me in (ONE, OTHER):
        bus.add(me, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 200, 20, 1)
    acks = [ack.subscriber for ack in bus.frames(Ack) if isinstance(ack, Ack)]
    turns = sum(one != other for one, other in pairwise(acks))
    # Of 400 round trips.
    assert turns <= 20


def test_of_many_who_lose_the_same_one_acknowledges_and_few_speak() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Upstream(0.02))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    for me in range(10, 60):
        bus.add(me, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 100, 6, 1)
    assert len(bus.frames(Ack)) <= 1.1 * len(bus.frames(Data))
    assert 0 < len(bus.frames(Feedback)) < 6 * 40
    assert len(flows(bus)) == 1


@pytest.mark.parametrize("crashes", [True, False])
def test_who_leaves_does_not_hold_up_the_others(crashes: bool) -> None:
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Lossy(0.1, ONE))
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    one = bus.add(ONE, None, congestion=CONTROL)
    bus.add(OTHER, None, interest="a >= 1", congestion=CONTROL)
    number = one.subscribe(parse("a = 1"), now=bus.now)
    assert received(bus, lambda: publish(bus, 200, 6, 1))[OTHER, 1] < 0.6 * 1_200
    assert one_flow(bus).clr == ONE
    if crashes:
        bus.detach(ONE)
    else:
        one.unsubscribe(number, now=bus.now)
    # Nobody else has lost anything.
    publish(bus, 200, 8, 1)
    assert received(bus, lambda: publish(bus, 200, 4, 1))[OTHER, 1] > 0.95 * 800


def test_where_acknowledgements_are_lost_it_goes_by_rate() -> None:
    lossy = Lossy(0.02, ONE)
    is_deaf = False

    def loses(sender: int, receiver: int, frame: TransportFrame) -> bool:
        return lossy(sender, receiver, frame) or (is_deaf and isinstance(frame, Ack))

    bus = bus_of(CONTROL, "a = 1", delay_ms=25, loses=loses)
    publish(bus, 250, 4, 1)
    assert has_window(one_flow(bus))
    is_deaf = True
    publish(bus, 250, 20, 1)
    assert not has_window(one_flow(bus))
    rate = received(bus, lambda: publish(bus, 250, 10, 1))[ONE, 1] / 10
    assert 0.3 * fair_rate(0.02, 0.05) < rate < 1.2 * fair_rate(0.02, 0.05)


@pytest.mark.parametrize(("publisher", "receiver"), [(CONTROL, RATE), (RATE, CONTROL)])
def test_who_keeps_another_law_is_controlled_too(publisher: object, receiver: object) -> None:
    bus = Bus(delay_ns=25 * MILLISECOND, loses=Lossy(0.03, ONE))
    bus.add(PUBLISHER, None, record=2, congestion=publisher)  # type: ignore[arg-type]
    bus.add(ONE, None, interest="a = 1", congestion=receiver)  # type: ignore[arg-type]
    publish(bus, 250, 10, 1)
    rate = received(bus, lambda: publish(bus, 250, 20, 1))[ONE, 1] / 20
    assert rate == pytest.approx(fair_rate(0.03, 0.05), rel=0.35)


# Who lies.


class Liar(Bus):
    """A bus with a receiver that says it bears very little, and acknowledges everything."""

    def lie(self, claim_mps: float) -> None:
        publisher = self.endpoints[PUBLISHER]
        request = FlowRequest(quota_mps=claim_mps, filter=parse("a = 1").filters[0])
        frame = Feedback(
            subscriber=99, pub=PUBLISHER, send_ts_us=0, feedback_round=0,
            round_trip_code=encode_round_trip(1), has_loss=True, requests=(request,),
        )  # fmt: skip
        publisher.receive(frame, via="bus", now=self.now)
        for flow in flows(self):
            flow_acks = (FlowAck(flow.id, flow.last_seq, 0xFFFFFFFF),)
            ack = Ack(subscriber=99, pub=PUBLISHER, epoch=1, flows=flow_acks)
            publisher.receive(ack, via="bus", now=self.now)


def test_who_claims_to_be_slow_and_is_not_is_held_to_its_claim() -> None:
    bus = Liar(delay_ns=25 * MILLISECOND)
    bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    bus.add(ONE, None, interest="a = 1", congestion=CONTROL)

    def lying() -> None:
        for _ in range(10 * 50):
            bus.lie(10.0)
            publish(bus, 250, 0.02, 1)

    assert received(bus, lying)[ONE, 1] <= 10 * 2 * 10 + 30
    assert one_flow(bus).clr == 99


def test_acknowledgements_of_others_and_of_what_never_left_change_nothing() -> None:
    line = Line(WINDOWED)
    line.say("a = 1", 100)
    for _ in range(10):
        line.publish(a=1)
    (flow,) = line.sender.flow_table
    for by, id_, seq in (
        (12, flow.id, 1),
        (11, flow.id + 1, 1),
        (11, flow.id, flow.last_seq + 1),
        (11, flow.id, 2**31),
    ):
        ack = Ack(subscriber=by, pub=0, epoch=0, flows=(FlowAck(id_, seq, 0xFFFFFFFF),))
        line.sender.feedback_receiver.on_ack(ack, line.now)
    assert not has_window(flow)
    assert line.counters["acks_unknown"] == 4
    line.sender.feedback_receiver.on_ack(
        Ack(subscriber=11, pub=0, epoch=0, flows=(FlowAck(flow.id, 1),)), line.now
    )
    assert has_window(flow)
    assert line.counters["acks"] == 5


def test_of_another_life_of_the_publisher_they_are_not_heard() -> None:
    bus = Bus(delay_ns=20 * MILLISECOND, loses=Lossy(0.05, ONE))
    endpoint = bus.add(PUBLISHER, None, record=2, congestion=CONTROL)
    bus.add(ONE, None, interest="a = 1", congestion=CONTROL)
    publish(bus, 100, 3, 1)
    heard = endpoint.counters["acks"]
    assert heard > 0
    flow = one_flow(bus)
    ack = Ack(subscriber=ONE, pub=PUBLISHER, epoch=2, flows=(FlowAck(flow.id, flow.last_seq),))
    endpoint.receive(ack, via="bus", now=bus.now)
    assert endpoint.counters["acks"] == heard


def acknowledge(line: Line, by: int, flow: ControlledFlow) -> None:
    """All that left."""
    ack = Ack(subscriber=by, pub=0, epoch=0, flows=(FlowAck(flow.id, flow.last_seq, 0xFFFFFFFF),))
    line.sender.feedback_receiver.on_ack(ack, line.now)
    line.run(line.now + 1)


def test_a_message_needs_room_in_each_flow_it_is_in() -> None:
    line = Line(WINDOWED)
    line.say("a = 1", 1_000)
    line.say("b = 1", 1_000, by=12)
    line.publish(a=1, b=1)
    one, other = line.sender.flow_table
    acknowledge(line, 11, one)
    acknowledge(line, 12, other)
    line.run(line.now + 100 * MILLISECOND)
    # Two of each may be on their way.
    for _ in range(2):
        line.publish(a=1)
    line.publish(a=1, b=1)
    line.publish(b=1)
    line.publish(c=1)
    left = [message.attributes for _, message, _ in line.left[1:]]
    assert left == [{"a": 1}, {"a": 1}, {"c": 1}]
    acknowledge(line, 11, one)
    line.publish(c=2)
    assert [message.attributes for _, message, _ in line.left[4:]] == [
        {"a": 1, "b": 1},
        {"b": 1},
        {"c": 2},
    ]


def test_nobody_is_stopped_by_silence() -> None:
    line = Line(WINDOWED)
    line.say("a = 1", 100)
    line.publish(a=1)
    (flow,) = line.sender.flow_table
    line.sender.feedback_receiver.on_ack(
        Ack(subscriber=11, pub=0, epoch=0, flows=(FlowAck(flow.id, 1),)), line.now
    )
    for _ in range(100):
        line.publish(a=1)
    left = len(line.left)
    line.run(line.now + 3 * SECOND)
    # A time-out each second, at least.
    assert len(line.left) - left >= 3
