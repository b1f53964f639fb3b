"""Receivers that lie, shout and forge: others' flows go on, memory is bounded, and it is told who.

An honest receiver limits one flow, a = 1, and says so twice a second; nobody limits a = 2.
Somebody else sends hundreds of frames a second, or floods.
"""

from __future__ import annotations

import gc
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, cycle
from math import inf, nan

import pytest

from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError, UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Send
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.congestion.sender.feedback_limits import ROUND_TRIP_MAX_NS
from penstock.transport.congestion.settings import DEFAULT
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import EndpointSettings, RecordSettings
from penstock.wire import decode, encode
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import encode_round_trip

ENCODER = Encoder(b"hostile")
PUBLISHER, HONEST, LIAR = 1, 2, 3
RATE, QUOTA = 200, 50.0
R = encode_round_trip(20 * MILLISECOND)
SETTINGS = replace(DEFAULT, initial_rate_mps=60_000.0, policy="drop-oldest", queue_max=100)


def wanted(text: str) -> Filter:
    return parse(text).filters[0]


def feedback(
    *requests: FlowRequest, by: int, r_code: int | None = R, is_leave: bool = False
) -> Feedback:
    return Feedback(
        subscriber=by,
        pub=PUBLISHER,
        send_ts_us=7,
        feedback_round=0,
        round_trip_code=r_code,
        is_leave=is_leave,
        requests=requests,
    )


class Scene:
    """A publisher, what leaves it, and the honest receiver."""

    def __init__(self) -> None:
        self.endpoint: Endpoint[TransportFrame] = Endpoint(
            LoopbackNetwork(),
            endpoint_id=PUBLISHER,
            epoch=1,
            encoder=ENCODER,
            settings=EndpointSettings(congestion=SETTINGS, record=RecordSettings(size=2)),
            draw=lambda: 0.5,
        )
        self.now: Instant = SECOND
        # How many left, of each a.
        self.left = {1: 0, 2: 0}
        self.replies = 0
        self.hear(feedback(FlowRequest(quota_mps=QUOTA, filter=wanted("a = 1")), by=HONEST))
        self.publish(1)
        self.hear(feedback(FlowRequest(quota_mps=QUOTA, filter=wanted("a = 1")), by=HONEST))
        (flow,) = self.congestion.controlled_flows
        self.flow_id = flow.id

    @property
    def congestion(self):  # type: ignore[no-untyped-def]
        assert self.endpoint.congestion is not None
        return self.endpoint.congestion

    def hear(self, frame: TransportFrame) -> None:
        self.endpoint.receive(frame, via="", now=self.now)
        self._drain()

    def publish(self, value: int) -> None:
        self.endpoint.submit(Message({"a": value, "z": self.now % 1_000}), now=self.now)
        self._drain()

    def run(self, for_s: int, frames: Iterator[TransportFrame], per_second: int) -> None:
        """So long: messages of both kinds, honest reports, and these frames."""
        steps = per_second * for_s
        for step in range(steps):
            until = self.now + SECOND // per_second
            while (at := self.endpoint.next_wakeup()) is not None and at <= until:
                self.now = max(self.now, at)
                self.endpoint.wake(now=self.now)
                self._drain()
            self.now = until
            if step % (per_second // RATE) == 0:
                self.publish(1)
                self.publish(2)
            if step % (per_second // 2) == 0:
                report = FlowRequest(quota_mps=QUOTA, flow_id=self.flow_id)
                self.hear(feedback(report, by=HONEST))
            frame = next(frames, None)
            if frame is not None:
                self.hear(frame)

    def _drain(self) -> None:
        while (output := self.endpoint.poll()) is not None:
            if isinstance(output, Send) and isinstance(output.frame, Data):
                self.left[int(str(output.frame.message.attributes["a"]))] += 1
            elif isinstance(output, Send) and isinstance(output.frame, EchoReply):
                self.replies += 1


@dataclass(frozen=True)
class Attack:
    """What somebody sends; by which counter it is known, and whether it is always the same."""

    frames: Callable[[Scene], Iterator[TransportFrame]]
    reason: str
    by: int | None = LIAR


def filters(number: int, quota: float = 1.0) -> FlowRequest:
    return FlowRequest(quota_mps=quota, filter=wanted(f"z = {number}"))


ATTACKS = {
    "rate 0 of what nobody else wants": Attack(
        lambda _: (feedback(filters(5_000, 0.0), by=LIAR) for _ in count()), "feedback_floored"
    ),
    "a flood of one report": Attack(
        lambda _: (feedback(filters(5_000), by=LIAR) for _ in count()), "feedback_limited"
    ),
    "thousands of filters": Attack(
        lambda _: (feedback(filters(10_000 + n), by=LIAR) for n in count()), "flows_refused"
    ),
    "thousands of filters, 64 at a time": Attack(
        # To build so many takes longer than to refuse them.
        lambda _: cycle(
            [feedback(*[filters(64 * n + i) for i in range(64)], by=LIAR) for n in range(20, 25)]
        ),
        "feedback_limited",
    ),
    "invented receivers": Attack(
        lambda _: (feedback(filters(10_000 + n), by=10_000 + n) for n in count()),
        "feedback_limited",
        by=None,
    ),
    "numbers of flows that it does not limit": Attack(
        lambda scene: (
            feedback(FlowRequest(quota_mps=1.0, flow_id=scene.flow_id), by=LIAR) for _ in count()
        ),
        "feedback_unknown",
    ),
    "numbers of flows that there are not": Attack(
        lambda _: (
            feedback(FlowRequest(quota_mps=1.0, flow_id=n & 0xFFF), by=LIAR) for n in count()
        ),
        "feedback_unknown",
    ),
    "a quick rate for another's flow": Attack(
        lambda scene: (
            feedback(FlowRequest(quota_mps=60_000.0, flow_id=scene.flow_id), by=LIAR)
            for _ in count()
        ),
        "feedback_unknown",
    ),
    "leaving another's flow, by its number": Attack(
        lambda scene: (
            feedback(FlowRequest(quota_mps=1.0, flow_id=scene.flow_id), by=LIAR, is_leave=True)
            for _ in count()
        ),
        "feedback_unknown",
    ),
    "leaving another's flow, by its filter": Attack(
        lambda _: (
            feedback(FlowRequest(quota_mps=1.0, filter=wanted("a = 1")), by=LIAR, is_leave=True)
            for _ in count()
        ),
        "feedback_unknown",
    ),
    "echo requests": Attack(
        lambda _: (EchoRequest(subscriber=LIAR, pub=PUBLISHER, send_ts_us=n) for n in count()),
        "echoes_limited",
    ),
    "round trips of minutes": Attack(
        lambda _: (
            EchoRequest(subscriber=LIAR, pub=PUBLISHER, send_ts_us=n, round_trip_code=255)
            for n in count()
        ),
        "echoes_limited",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_others_go_on_memory_is_bounded_and_it_is_told_who(name: str) -> None:
    attack = ATTACKS[name]
    scene = Scene()
    frames = attack.frames(scene)
    # What is there once and for all is there by then.
    scene.run(1, frames, 400)
    gc.collect()
    tracemalloc.start()
    try:
        before = dict(scene.left)
        scene.run(2, frames, 400)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Nobody limits a = 2; a = 1 gets what the honest one says.
    assert scene.left[2] - before[2] >= 0.99 * 2 * RATE
    assert scene.left[1] - before[1] == pytest.approx(2 * QUOTA, rel=0.1)
    assert scene.endpoint.counters[attack.reason] > 0
    refused = scene.congestion.refusals
    assert HONEST not in refused
    assert len(refused) <= 256
    if attack.by is not None:
        assert refused[attack.by][attack.reason] > 50
    # Of 800 frames: a flow is about four kilobytes, and 250 a second may be new.
    assert grown < (3 << 20 if attack.by is None else 1 << 19)


def test_invented_receivers_get_so_many_flows_a_second_and_no_more_than_there_is_room_for() -> None:
    scene = Scene()
    scene.run(1, ATTACKS["invented receivers"].frames(scene), 1_000)
    assert len(scene.congestion.controlled_flows) <= 1 + 2 * 250
    # The table fills, in the end; what nothing is offered to makes room for who comes then.
    scene.endpoint.congestion._sender.flow_table._settings = replace(SETTINGS, flows_max=400)  # type: ignore[union-attr, misc]
    scene.run(1, ATTACKS["invented receivers"].frames(scene), 1_000)
    assert len(scene.congestion.controlled_flows) <= 500
    scene.now += 2 * SECOND
    scene.hear(feedback(FlowRequest(quota_mps=5.0, filter=wanted("a = 2")), by=77))
    assert 77 in {flow.clr for flow in scene.congestion.controlled_flows}


def test_one_that_forges_many_names_still_gets_few_echoes() -> None:
    scene = Scene()
    requests = (EchoRequest(subscriber=100 + n, pub=PUBLISHER, send_ts_us=0) for n in range(6_000))
    for request in requests:
        scene.hear(request)
    assert scene.replies <= 4_000
    assert scene.endpoint.counters["echoes_limited"] >= 2_000


def test_round_trips_are_believed_up_to_a_bound() -> None:
    scene = Scene()
    scene.hear(feedback(filters(5_000), by=LIAR, r_code=255))
    scene.hear(EchoRequest(subscriber=LIAR, pub=PUBLISHER, send_ts_us=0, round_trip_code=255))
    sender = scene.endpoint.congestion._sender  # type: ignore[union-attr]
    assert sender is not None
    assert sender.rounds.max_round_trip_ns == ROUND_TRIP_MAX_NS
    assert all(flow.rtt_ns <= ROUND_TRIP_MAX_NS for flow in scene.congestion.controlled_flows)


def test_who_wants_everything_slowly_gets_it_and_no_slower_than_the_floor() -> None:
    """What remains possible: the slowest receiver of a flow decides."""
    scene = Scene()
    liar = (feedback(FlowRequest(quota_mps=0.0, filter=wanted("a >= 0")), by=LIAR) for _ in count())
    scene.run(2, liar, 200)
    before = scene.left[2] + scene.left[1]
    scene.run(10, liar, 200)
    left = scene.left[2] + scene.left[1] - before
    assert 0.9 * 10 * SETTINGS.rate_min_mps <= left <= 15
    assert scene.congestion.refusals[LIAR]["feedback_floored"] > 0


@pytest.mark.parametrize("rate", [nan, -1.0, -inf, inf, 1e18])
def test_rates_that_are_none_cannot_be_said(rate: float) -> None:
    with pytest.raises(UsageError):
        FlowRequest(quota_mps=rate, flow_id=20_000)
    good = encode(feedback(FlowRequest(quota_mps=1.0, flow_id=20_000), by=LIAR))
    try:
        bad = struct.pack(">e", rate)
    except OverflowError:
        bad = struct.pack(">e", inf)
    at = good.rindex(struct.pack(">e", 1.0))
    with pytest.raises(PeerError):
        decode(good[:at] + bad + good[at + 2 :])


def test_an_echo_of_the_future_or_of_long_ago_measures_nothing() -> None:
    receiver: Endpoint[TransportFrame] = Endpoint(
        LoopbackNetwork(),
        endpoint_id=HONEST,
        epoch=1,
        encoder=ENCODER,
        settings=EndpointSettings(congestion=SETTINGS),
        draw=lambda: 0.5,
    )
    receiver.subscribe(parse("a = 1"), now=0)
    publisher: Endpoint[TransportFrame] = Endpoint(
        LoopbackNetwork(), endpoint_id=PUBLISHER, epoch=1, encoder=ENCODER
    )
    now = 20 * SECOND
    receiver.receive(publisher.publish(Message({"a": 1}), now=now), via="", now=now)
    assert receiver.congestion is not None
    (session,) = receiver.congestion.sessions
    now_us = now // 1_000
    for stamp_us in (now_us + 1, now_us + 10**6, now_us - 11 * 10**6, 0):
        receiver.receive(
            EchoReply(
                to=HONEST,
                pub=PUBLISHER,
                send_ts_us=now_us,
                echo_ts_us=stamp_us,
                hold_100us=0,
                receivers=1,
            ),
            via="",
            now=now,
        )
        assert not session.rtt.is_measured
