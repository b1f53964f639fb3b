"""The publisher's part: what leaves when, what it announces, and whom it believes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.transport.congestion.sender.sender import SendController
from penstock.transport.congestion.settings import DEFAULT, LITERAL, WINDOW, CongestionSettings
from penstock.wire.frames.data import FlowTag
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import encode_round_trip

ENCODER = Encoder(b"sender")
ONE, OTHER = 11, 12
R = encode_round_trip(20 * MILLISECOND)
OPEN = replace(DEFAULT, initial_rate_mps=60_000.0, policy="drop-oldest")


class Line:
    """A sender, and all that left."""

    def __init__(self, settings: CongestionSettings = OPEN) -> None:
        self.counters: Counter[str] = Counter()
        self.sender = SendController(settings, ENCODER, self.counters, 0)
        self.left: list[tuple[Instant, Message, tuple[FlowTag, ...]]] = []
        self.dropped: list[Message] = []
        self.now = 0
        # So that the round trip is known.
        self.sender.feedback_receiver.on_echo_request(
            EchoRequest(subscriber=1, pub=0, send_ts_us=0, round_trip_code=R), 0
        )

    def publish(self, **attributes: int) -> None:
        dropped = self.sender.submit(Message(attributes), self.now)
        self.dropped += [] if dropped is None else [dropped.message]
        self._release()

    def say(self, text: str, quota: float, *, by: int = ONE, leave: bool = False) -> None:
        request = FlowRequest(quota_mps=quota, filter=parse(text).filters[0])
        self.sender.on_feedback(
            Feedback(
                subscriber=by,
                pub=0,
                send_ts_us=77,
                feedback_round=0,
                round_trip_code=R,
                is_leave=leave,
                requests=(request,),
            ),
            self.now,
        )
        self._release()

    def run(self, until: Instant) -> None:
        while True:
            at = min(
                at
                for at in (self.sender.next_send_at(self.now), self.sender.next_wakeup(), until)
                if at is not None
            )
            self.now = max(self.now, at)
            if self.now >= until:
                return
            self.sender.wake(self.now)
            self._release()

    def _release(self) -> None:
        for each, flows in self.sender.ready(self.now):
            head = self.sender.header_for(each.message, flows, self.now)
            self.left.append((self.now, each.message, head.flows))

    def sent(self, **attributes: int) -> int:
        return sum(
            all(message.attributes.get(k) == v for k, v in attributes.items())
            for _, message, _ in self.left
        )


def test_only_what_is_limited_waits() -> None:
    line = Line()
    line.publish(a=3)
    # The beginning is over.
    line.run(SECOND)
    line.say("a = 1", 10)
    for _ in range(100):
        line.publish(a=1)
        line.publish(a=2)
    assert line.sent(a=2) == 100
    assert line.sent(a=1) <= 3
    line.run(2 * SECOND)
    assert line.sent(a=1) == pytest.approx(10, abs=3)


def test_a_message_needs_a_token_of_each_flow_it_is_in() -> None:
    line = Line()
    line.say("a = 1", 50)
    line.say("b = 1", 5, by=OTHER)
    for _ in range(200):
        line.publish(a=1, b=1)
    line.run(2 * SECOND)
    assert line.sent(a=1) == pytest.approx(10, abs=3)


def test_those_of_a_flow_leave_in_their_order() -> None:
    line = Line()
    line.say("a = 1", 20)
    line.say("b = 1", 5, by=OTHER)
    for number in range(60):
        line.publish(a=1, number=number, **({"b": 1} if number % 7 == 0 else {}))
        line.run(line.now + 10 * MILLISECOND)
    line.run(10 * SECOND)
    numbers = [message.attributes["number"] for _, message, _ in line.left]
    assert numbers == sorted(numbers, key=lambda number: int(str(number)))
    assert len(numbers) > 30


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 30)), max_size=80
    ),
    strict=st.booleans(),
)
def test_within_every_flow_order_is_kept_and_nothing_is_lost(
    steps: list[tuple[int, int, int]], strict: bool
) -> None:
    line = Line(replace(OPEN, strict=strict))
    line.say("a = 1", 30)
    line.say("b = 1", 10, by=OTHER)
    for number, (a, b, step_ms) in enumerate(steps):
        line.publish(a=a, b=b, number=number)
        line.run(line.now + step_ms * MILLISECOND)
    for _ in range(100):
        line.run(line.now + SECOND)
    numbers = [int(str(message.attributes["number"])) for _, message, _ in line.left]
    assert sorted(numbers) == list(range(len(steps)))
    if strict:
        assert numbers == sorted(numbers)
    for name in ("a", "b"):
        own = [int(str(m.attributes["number"])) for _, m, _ in line.left if m.attributes[name] == 1]
        assert own == sorted(own)


def test_the_queue_is_bounded_and_the_oldest_goes() -> None:
    line = Line(replace(OPEN, queue_max=10))
    line.say("a = 1", 1)
    for number in range(50):
        line.publish(a=1, number=number)
    assert line.sender.queued_messages == 10
    assert len(line.dropped) + len(line.left) + 10 == 50
    newest = Line(replace(OPEN, queue_max=10, policy="drop-newest"))
    newest.say("a = 1", 1)
    for number in range(50):
        newest.publish(a=1, number=number)
    assert newest.dropped[-1].attributes["number"] == 49


def test_a_flow_is_announced_once_a_round_and_numbered_always() -> None:
    line = Line()
    line.say("a = 1", 1_000)
    for _ in range(300):
        line.publish(a=1)
        line.run(line.now + 5 * MILLISECOND)
    flows = [flows[0] for _, _, flows in line.left]
    assert [flow.flow_seq for flow in flows] == list(range(1, 301))
    announced = [flow for flow in flows if flow.announcement is not None]
    # A round is six of the longest round trips, 120 ms or a little more, of 1.5 s.
    assert 8 <= len(announced) <= 13
    assert {flow.announcement.clr for flow in announced if flow.announcement} == {ONE}


def test_who_limits_a_flow_gets_its_stamp_back_once() -> None:
    line = Line()
    line.say("a = 1", 1_000)
    line.now += 3 * MILLISECOND
    heads = []
    for _ in range(3):
        line.sender.submit(Message({"a": 1}), line.now)
        heads += [
            line.sender.header_for(each.message, flows, line.now)
            for each, flows in line.sender.ready(line.now)
        ]
    echoes = [head.echo for head in heads]
    assert echoes[0] is not None
    assert (echoes[0].receiver, echoes[0].echo_ts_us, echoes[0].hold_100us) == (ONE, 77, 30)
    assert echoes[1:] == [None, None]


def test_a_publisher_begins_slowly_and_doubles() -> None:
    line = Line(replace(OPEN, initial_rate_mps=100.0))
    for _ in range(1_000):
        line.publish(a=1)
    line.run(20 * MILLISECOND)
    assert len(line.left) <= 5
    line.run(240 * MILLISECOND)
    assert len(line.left) <= 40
    line.run(490 * MILLISECOND)
    assert len(line.left) <= 100
    line.run(3 * SECOND)
    assert len(line.left) == 1_000


def test_who_complains_of_some_does_not_let_loose_the_rest() -> None:
    """What gathered at the beginning leaves within a second or so, not all at once."""
    line = Line(replace(OPEN, initial_rate_mps=10.0))
    for _ in range(50):
        line.publish(a=2)
    line.say("a = 1", 1_000)
    assert len(line.left) < 5
    line.run(SECOND // 2)
    assert len(line.left) < 25
    line.run(4 * SECOND)
    assert len(line.left) == 50
    # It is over then.
    for _ in range(50):
        line.publish(a=2)
    assert len(line.left) == 100


def test_what_somebody_limits_waits_for_nothing_else() -> None:
    line = Line(replace(OPEN, initial_rate_mps=1.0))
    for _ in range(20):
        line.publish(a=1)
    assert len(line.left) < 5
    line.say("a = 1", 200)
    line.run(SECOND // 4)
    assert len(line.left) == 20


@pytest.mark.parametrize("quota", [0.0, 2.0**-20])
def test_nobody_is_stopped(quota: float) -> None:
    line = Line()
    line.say("a >= 0", quota)
    for _ in range(100):
        line.publish(a=1)
    line.run(10 * SECOND)
    assert line.sent(a=1) >= 10 * DEFAULT.rate_min_mps - 1
    assert line.counters["feedback_floored"] == 1


def test_a_flood_of_flows_has_an_end() -> None:
    line = Line(replace(OPEN, flows_max=100, flows_each_max=20))
    for number in range(500):
        line.say(f"a = {number}", 5, by=number % 7)
    assert len(line.sender.flow_table) <= 100
    assert line.counters["flows_refused"] > 0
    line.publish(a=10_000)
    assert line.sent(a=10_000) == 1


def test_numbers_of_flows_that_are_not_known_change_nothing() -> None:
    line = Line()
    line.sender.on_feedback(
        Feedback(
            subscriber=ONE,
            pub=0,
            send_ts_us=0,
            feedback_round=0,
            requests=(FlowRequest(quota_mps=1.0, flow_id=20_000),),
        ),
        0,
    )
    assert len(line.sender.flow_table) == 0
    assert line.counters["feedback_unknown"] == 1


def test_repairs_have_a_tenth() -> None:
    line = Line()
    line.say("a = 1", 100)
    bits = ENCODER.message_bits(Message({"a": 1}))
    allowed = 0
    for now in range(0, 10 * SECOND, 10 * MILLISECOND):
        allowed += line.sender.admit_repair(bits, now)
    assert allowed == pytest.approx(100, abs=5)
    assert all(line.sender.admit_repair(0, now) for now in range(100))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"law": "x"}, "law is one of equation, literal, window, not 'x'"),
        ({"policy": "wait"}, "policy is one of block, drop-oldest, drop-newest, not 'wait'"),
        ({"increase": 0.0}, "increase is above 0, and at most 1"),
        ({"queue_max": 0}, "queue_max is above 0, not 0"),
        (
            {"rate_min_mps": 1e9},
            "rate_min_mps is at most 65504, the highest rate that can be said, not 1e+09",
        ),
        ({"rate_min_mps": -1.0}, "initial_rate_mps and rate_min_mps are at least 0.001"),
        ({"rate_min_mps": "fast"}, "rate_min_mps is a finite number, not 'fast'"),
        ({"nominal_bytes": 0}, "nominal_bytes is at least 1"),
    ],
)
def test_a_mistake_in_the_settings_is_one_line(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        CongestionSettings(**wrong)  # type: ignore[arg-type]
    assert str(raised.value) == complaint


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("usual", [DEFAULT, WINDOW, LITERAL])
def test_a_new_message_does_not_overtake_queued_ones_that_are_not_matched_yet(
    usual: CongestionSettings, strict: bool
) -> None:
    line = Line(replace(OPEN, law=usual.law, strict=strict))
    line.say("a = 1", 10)
    for n in range(20):
        line.publish(a=1, n=n)
    line.now += MILLISECOND
    # With so many messages queued, the next change of flows takes effect after some time only.
    line.say("a = 1 and n > 100", 1, by=OTHER)
    line.say("exists a", 5, by=OTHER)
    line.publish(a=1, n=20)
    assert line.sender.queued_messages == len(line.sender.queued)
    assert [queued.message.attributes["n"] for queued in line.sender.queued][-1] == 20
    line.run(10 * SECOND)
    assert [message.attributes["n"] for _, message, _ in line.left] == [*range(21)]


def test_messages_that_are_not_matched_yet_are_dropped_after_older_ones() -> None:
    line = Line(replace(OPEN, queue_max=5))
    line.say("a = 1", 10)
    for n in range(6):
        line.publish(a=1, n=n)
    line.say("a = 1 and n > 100", 1, by=OTHER)
    line.say("exists a", 5, by=OTHER)
    for n in range(6, 13):
        line.publish(a=1, n=n)
    assert [message.attributes["n"] for message in line.dropped] == [*range(1, 8)]
    assert line.sender.queued_messages == 5
    line.run(10 * SECOND)
    assert [message.attributes["n"] for _, message, _ in line.left] == [0, *range(8, 13)]
