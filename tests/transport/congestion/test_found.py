"""What somebody who tried to break it found: each once, as small as it can be shown."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver, Record, Send
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.tfrc.rate_meter import RateMeter
from penstock.transport.congestion.repair_allowance import RepairAllowance
from penstock.transport.congestion.settings import DEFAULT, LITERAL, CongestionSettings
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import DroppedAtSource, Sent
from penstock.transport.settings import EndpointSettings, RecordSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import FlowRequest
from penstock.wire.limits import FIRST_CONTROLLED_FLOW
from tests.transport.congestion.test_hostile import HONEST, LIAR, PUBLISHER, feedback, wanted
from tests.transport.congestion.test_repair_allowance import data

QUICK = replace(DEFAULT, initial_rate_mps=60_000.0, policy="drop-oldest")


class Scene:
    """One endpoint, what left it, what it dropped and how often it woke up."""

    def __init__(self, settings: CongestionSettings) -> None:
        self.endpoint: Endpoint[TransportFrame] = Endpoint(
            LoopbackNetwork(),
            endpoint_id=PUBLISHER,
            epoch=1,
            encoder=Encoder(b"found"),
            settings=EndpointSettings(congestion=settings, record=RecordSettings(size=2)),
            draw=Random(3).random,
        )
        self.now: Instant = SECOND
        self.left: list[Data] = []
        self.dropped = self.wakes = self.replies = 0

    def to(self, until: Instant) -> None:
        while (at := self.endpoint.next_wakeup()) is not None and at <= until:
            self.now = max(self.now, at)
            self.endpoint.wake(now=self.now)
            self.wakes += 1
            self._drain()
        self.now = until

    def hear(self, frame: TransportFrame) -> None:
        self.endpoint.receive(frame, via="", now=self.now)
        self._drain()

    def ask(self, text: str, rate: float, by: int = HONEST) -> None:
        self.hear(feedback(FlowRequest(quota_mps=rate, filter=wanted(text)), by=by))

    def offer(self, **attributes: int) -> None:
        self.endpoint.submit(Message(attributes), now=self.now)
        self._drain()

    def count(self, name: str) -> int:
        return sum(name in frame.message.attributes for frame in self.left)

    def _drain(self) -> None:
        while (output := self.endpoint.poll()) is not None:
            if isinstance(output, Record) and isinstance(output.row, Sent):
                self.left.append(output.row.frame)
            elif isinstance(output, Deliver) and isinstance(output.item, DroppedAtSource):
                self.dropped += 1
            elif isinstance(output, Send) and isinstance(output.frame, EchoReply):
                self.replies += 1


def test_a_message_of_a_flow_of_no_rate_may_be_repaired_now_and_then() -> None:
    repairs = RepairAllowance()
    stopped = data(FlowTag(FIRST_CONTROLLED_FLOW, 0.0, 7))
    taken = [repairs.try_take(stopped, second * SECOND) for second in range(100)]
    assert 5 <= sum(taken) <= 15


@pytest.mark.parametrize("law", ["equation", "window"])
def test_a_mark_counts_once_however_often_its_message_comes(law: str) -> None:
    publisher, scene = Scene(QUICK), Scene(CongestionSettings(law=law))  # type: ignore[arg-type]
    publisher.offer(a=1)
    (frame,) = publisher.left
    scene.endpoint.subscribe(parse("a = 1"), now=scene.now)
    frame = msgspec.structs.replace(frame, pub=77, congestion_experienced=True)
    for _ in range(20):
        scene.hear(frame)
        scene.to(scene.now + SECOND)
    assert scene.endpoint.counters["marked"] == 1


def test_a_bloom_set_limits_nothing_where_filters_are_matched() -> None:
    scene = Scene(QUICK)
    scene.offer(a=1)
    scene.ask("a = 1", 50.0)
    for _ in range(10):
        scene.hear(feedback(FlowRequest(quota_mps=1.0, bloom=0, bloom_bytes=1), by=LIAR))
    assert scene.endpoint.congestion is not None
    assert [flow.clr for flow in scene.endpoint.congestion.controlled_flows] == [HONEST]
    assert scene.endpoint.congestion.refusals == {LIAR: {"feedback_unknown": 10}}


def test_who_underbids_another_cannot_make_its_flow_quick() -> None:
    scene = Scene(QUICK)
    scene.offer(a=1)
    scene.ask("a = 1", 50.0)
    before = len(scene.left)
    for step in range(2_500):
        scene.to(scene.now + 2 * MILLISECOND)
        scene.offer(a=1)
        if step % 50 == 0:
            scene.ask("a = 1", 50.0)
        elif step % 50 == 1:
            asked = [FlowRequest(quota_mps=q, filter=wanted("a = 1")) for q in (49.0, 65_504.0)]
            scene.hear(feedback(*asked, by=LIAR))
    # 500 a second are offered.
    assert (len(scene.left) - before) / 5 < 80


@pytest.mark.parametrize("policy", ["block", "drop-oldest", "drop-newest"])
def test_a_queue_that_is_full_holds_up_nothing_that_is_in_no_flow(policy: str) -> None:
    scene = Scene(replace(QUICK, policy=policy, queue_max=20))  # type: ignore[arg-type]
    scene.offer(a=1)
    scene.ask("exists b", 1.0)
    for step in range(1_000):
        scene.to(scene.now + 5 * MILLISECOND)
        if step % 100 == 0:
            scene.ask("exists b", 1.0)
        if policy != "block" or scene.endpoint.has_room_for(Message({"b": 1}), now=scene.now):
            scene.offer(b=1)
        assert scene.endpoint.has_room_for(Message({"a": 1}), now=scene.now)
        scene.offer(a=1)
    assert scene.endpoint.send_queue_is_full
    assert scene.count("a") == 1_001
    assert scene.count("b") <= 8
    assert (scene.dropped > 0) == (policy != "block")


def test_a_round_trip_of_nothing_does_not_keep_a_publisher_busy() -> None:
    scene = Scene(QUICK)
    scene.offer(a=1)
    scene.hear(EchoRequest(subscriber=LIAR, pub=PUBLISHER, send_ts_us=1, round_trip_code=0))
    scene.to(scene.now + 5 * SECOND)
    before = scene.wakes
    scene.to(scene.now + 10 * SECOND)
    assert scene.wakes - before <= 101


def test_one_that_publishes_nothing_answers_nobody() -> None:
    scene = Scene(QUICK)
    for number in range(2_000):
        scene.hear(EchoRequest(subscriber=number, pub=PUBLISHER, send_ts_us=1))
    assert scene.replies == 0


def test_a_flow_named_often_in_a_report_is_heard_once() -> None:
    scene = Scene(QUICK)
    scene.offer(a=1)
    scene.ask("a = 1", 50.0)
    assert scene.endpoint.congestion is not None
    (flow,) = scene.endpoint.congestion.controlled_flows
    asked = [FlowRequest(quota_mps=float(rate), flow_id=flow.id) for rate in range(40, 10, -1)]
    scene.hear(feedback(*asked, by=HONEST))
    assert flow.quota_mps == 40


def test_literally_too_messages_of_a_flow_leave_in_their_order() -> None:
    scene = Scene(replace(LITERAL, policy="drop-oldest", initial_rate_mps=60_000.0))
    scene.offer(z=0)
    scene.ask("exists a", 1.0)
    for number in range(6):
        scene.offer(a=1, n=number)
    # Narrower, and slower: another flow of what waits.
    scene.ask("a = 1", 0.5 + 0.5, by=LIAR)
    scene.offer(a=1, n=6)
    scene.to(scene.now + 60 * SECOND)
    numbers = [frame.message.attributes["n"] for frame in scene.left if "n" in frame.message.keys]
    assert numbers == sorted(numbers)
    assert len(numbers) == 7


def test_a_meter_starts_again_when_the_clock_is_set_back() -> None:
    meter = RateMeter()
    for number in range(1_000):
        meter.count(3_600 * SECOND + number * 10 * MILLISECOND)
    for number in range(1_000):
        meter.count(number * 10 * MILLISECOND)
    assert meter.rate(10 * SECOND) == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize("weight", [0.0, -1.0, 1e20, float("nan")])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(UsageError, match=r"weight lies within 0\.001 and 1,000"):
        Scene(QUICK).endpoint.subscribe(parse("a = 1"), weight=weight, now=0)
