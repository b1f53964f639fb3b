"""Peers that lie, flood or are broken: nothing crashes, fills up, or gets in that must not."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content import constraint
from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.recovery import settings as recovery
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import ALL_MESSAGES
from tests import frames
from tests.transport.recovery.bus import Bus
from tests.wire.strategies import digests, recalls, repairs, requests, trackeds, tracks

PUBLISHER, ONE, LIAR = 1, 2, 66
SETTINGS = replace(recovery.DEFAULT, requests_mps=20.0, repairs_mps=20.0)


def network(*, published: int = 20) -> Bus:
    bus = Bus()
    bus.add(PUBLISHER, SETTINGS)
    bus.add(ONE, SETTINGS, interest="topic = 1")
    for _ in range(published):
        bus.publish(PUBLISHER, topic=1)
        bus.run(10 * MILLISECOND)
    bus.run(SECOND)
    bus.sent.clear()
    return bus


def send(bus: Bus, to: int, frame: TransportFrame) -> None:
    bus.endpoints[to].receive(frame, via="bus", now=bus.now)
    bus.run(MILLISECOND)


def request(seq: int, requester: int = LIAR, first: int | None = PUBLISHER) -> Request:
    return Request(
        pub=PUBLISHER,
        epoch=1,
        seq=seq,
        requester=requester,
        send_ts_us=0,
        age_100us=0,
        delay_100us=0,
        round=0,
        is_unicast=False,
        bloom=1,
        bloom_bytes=32,
        designated_repairer=first,
    )


def data(seq: int, *, epoch: int = 1, pub: int = PUBLISHER, topic: int = 1, size: int = 0) -> Data:
    message = Message({"topic": topic, "forged": True}, b"x" * size)
    return frames.data(seq, {}, pub=pub, epoch=epoch, message=message)


def repair(original: Data) -> Repair:
    return Repair(original=original, repairer=LIAR, requester=ONE, echo_ts_us=0, hold_100us=0)


def test_a_flood_of_requests_is_answered_within_the_budget() -> None:
    bus = network()
    for number in range(2_000):
        send(bus, PUBLISHER, request(number % 20, requester=1_000 + number))
    # 2 s passed, of which each has its 20, and a second's worth at once.
    assert len(bus.frames(Repair)) <= 2 * 20 + 20 + 2
    recovery_ = bus.endpoints[PUBLISHER].recovery
    assert recovery_ is not None
    assert len(recovery_._repairer) <= SETTINGS.answers_max
    assert recovery_._distances.peer_count <= 4_096


def test_requests_for_what_never_was_cost_nothing() -> None:
    bus = network()
    for seq in (20, 10**6, 2**32 - 1):
        send(bus, PUBLISHER, request(seq))
        send(bus, ONE, request(seq, first=None))
    bus.run(5 * SECOND)
    assert not bus.frames(Repair)


def test_a_repair_that_is_made_up_does_not_end_the_search() -> None:
    bus = network()
    bus.loses = lambda _sender, receiver, frame: receiver == ONE and type(frame) in (Data, Repair)
    lost = bus.publish(PUBLISHER, topic=1).seq
    bus.run(10 * MILLISECOND)
    bus.loses = lambda _sender, receiver, frame: receiver == ONE and type(frame) is Repair
    bus.publish(PUBLISHER, topic=1)
    bus.run(100 * MILLISECOND)
    send(bus, ONE, repair(data(lost, topic=2)))
    assert bus.endpoints[ONE].counters["repair_forged"] == 1
    bus.loses = lambda *_: False
    bus.run(10 * SECOND)
    assert lost in bus.delivered_seqs(ONE)


@pytest.mark.parametrize(
    "forged",
    [
        data(5),
        data(20),
        data(10**6),
        data(3, epoch=2),
        data(3, pub=9),
        data(19, topic=2),
    ],
    ids=["came before", "yet to come", "far ahead", "other epoch", "never heard", "not for us"],
)
def test_what_was_not_missing_is_not_taken(forged: Data) -> None:
    bus = network()
    before = bus.delivered_seqs(ONE)
    send(bus, ONE, repair(forged))
    bus.run(SECOND)
    assert bus.delivered_seqs(ONE) == before
    bus.publish(PUBLISHER, topic=1)
    bus.run(SECOND)
    assert bus.delivered_seqs(ONE) == [*before, 20], "the real one still comes"


def test_a_lost_message_is_not_repaired_by_one_that_does_not_match() -> None:
    bus = Bus(loses=lambda _s, to, f: isinstance(f, Data) and (to, f.seq) == (ONE, 5))
    alone = replace(SETTINGS, publisher_answers=False)
    bus.add(PUBLISHER, alone)
    bus.add(ONE, alone, interest="topic = 1")
    for _ in range(10):
        bus.publish(PUBLISHER, topic=1)
        bus.run(10 * MILLISECOND)
    send(bus, ONE, repair(data(5, topic=2)))
    bus.run(SECOND)
    assert 5 not in bus.delivered_seqs(ONE)
    assert bus.endpoints[ONE].counters["repair_unmatched"] == 1


def test_a_message_too_large_to_be_repaired_is_kept_and_refused_in_silence() -> None:
    bus = network()
    large = data(20, size=1_335)
    send(bus, ONE, large)
    send(bus, ONE, request(20, first=ONE))
    bus.run(SECOND)
    assert 20 in bus.delivered_seqs(ONE)
    assert not bus.frames(Repair)


def test_recalls_and_tracks_of_anyone_are_bounded() -> None:
    bus = network()
    everything = RangeRequest(
        pub=PUBLISHER, epoch=1, requester=LIAR, send_ts_us=0, flow_id=None,
        ranges=((0, 65_535), (70_000, 65_535)),
    )  # fmt: skip
    for token in range(50):
        send(
            bus,
            PUBLISHER,
            TrackRequest(
                subscriber=LIAR,
                pub=PUBLISHER,
                token=token,
                send_ts_us=0,
                is_digest_subscription=True,
            ),
        )
        send(bus, PUBLISHER, everything)
    bus.run(SECOND)
    assert len(bus.sent) <= 200


def test_those_who_never_were_do_not_fill_a_publisher() -> None:
    """Each names other attributes, other filters, and asks about everything."""
    bus = network()
    publisher = bus.endpoints[PUBLISHER]
    tracemalloc.start()
    for liar in range(400):
        filters = [
            Filter([Constraint(f"{liar:05}-{i:02}-of-those-that-nobody-has", Op.EXISTS, None)])
            for i in range(20)
        ]
        for token in (0, 1):
            frame = TrackRequest(
                subscriber=1_000 + liar,
                pub=PUBLISHER,
                token=token,
                send_ts_us=0,
                is_digest_subscription=token == 0,
                predicate=Predicate(filters),
            )
            publisher.receive(frame, via="bus", now=bus.now)
        everything = RangeRequest(
            pub=PUBLISHER, epoch=1, requester=1_000 + liar, send_ts_us=0,
            flow_id=ALL_MESSAGES, ranges=((0, 65_535),),
        )  # fmt: skip
        publisher.receive(everything, via="bus", now=bus.now)
    bus.run(SECOND)
    gc.collect()
    # Names of attributes are interned: the interpreter's table of them doubles at a moment
    # that depends on all that ran before in this process.
    interned = tracemalloc.Filter(inclusive=False, filename_pattern=constraint.__file__)
    kept = tracemalloc.take_snapshot().filter_traces([interned])
    tracemalloc.stop()
    assert sum(statistic.size for statistic in kept.statistics("filename")) < 16 << 20


@settings(max_examples=150)
@given(
    st.one_of(digests(), recalls(), repairs(), requests(), trackeds(), tracks()),
    st.sampled_from([PUBLISHER, ONE]),
)
def test_no_frame_of_any_content_does_harm(frame: TransportFrame, to: int) -> None:
    bus = network(published=3)
    before = bus.delivered_seqs(ONE)
    send(bus, to, frame)
    bus.run(2 * SECOND)
    assert bus.delivered_seqs(ONE) == before
