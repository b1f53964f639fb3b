"""Subscribers whose publishers number what they want: every loss is seen, whatever the filter."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import ReceiverFate
from penstock.transport.detect.flow_numbers import LEASE_NS
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import ALL_MESSAGES
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER = 1, 2, 3
TRACKS = replace(recovery.DEFAULT, digests=False, tracks=True)
CHEAP = "price < 5"


def bus_of(
    *subscribers: int,
    lost: tuple[tuple[int, int], ...] = (),
    publisher: RecoverySettings = TRACKS,
    interest: str = CHEAP,
) -> Bus:
    """A publisher without records; the network loses these: (receiver, number)."""

    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        return isinstance(frame, Data) and (receiver, frame.seq) in lost

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, publisher, record=0)
    for me in subscribers:
        bus.add(me, TRACKS, interest=interest)
    return bus


def publish(bus: Bus, prices: list[int], *, every_ns: int = 20 * MILLISECOND) -> None:
    for price in prices:
        bus.publish(PUBLISHER, price=price)
        bus.run(every_ns)


def recalls(bus: Bus) -> list[RangeRequest]:
    """Of numbers of flows."""
    found = [frame for frame in bus.frames(RangeRequest) if isinstance(frame, RangeRequest)]
    return [recall for recall in found if recall.flow_id not in (None, ALL_MESSAGES)]


def test_a_lost_message_of_a_range_is_seen_and_repaired() -> None:
    """Of ranges neither records nor digests tell: without numbers nobody would know."""
    bus = bus_of(ONE, lost=((ONE, 10), (ONE, 11)))
    publish(bus, [1, 9] * 10)
    bus.run(SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, 20, 2))
    repaired = [r.frame.seq for r in bus.deliveries[ONE] if r.fate is ReceiverFate.REPAIRED]
    # Number 11 was not for us, and nobody asked for it.
    assert repaired == [10]
    assert len(recalls(bus)) == len(bus.frames(Repair)) == 1
    assert not bus.frames(Request)


@pytest.mark.parametrize(("tracks", "gets_all"), [(None, True), (False, False)])
def test_what_nothing_else_tells_is_tracked_unless_that_is_refused(
    tracks: bool | None, gets_all: bool
) -> None:
    settings = replace(recovery.DEFAULT, tracks=tracks)
    bus = Bus(loses=lambda _s, _r, frame: isinstance(frame, Data) and frame.seq == 10)
    bus.add(PUBLISHER, settings)
    bus.add(ONE, settings, interest=CHEAP)
    publish(bus, [1, 9] * 10)
    bus.run(5 * SECOND)
    assert (10 in bus.delivered_seqs(ONE)) is gets_all


def test_what_records_tell_is_not_tracked_unless_that_is_asked_for() -> None:
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT)
    told = "price in (1, 2) and not exists size or price != 7"
    endpoint = bus.add(ONE, recovery.DEFAULT, interest=told)
    publish(bus, [1, 9] * 10)
    assert not bus.frames(TrackRequest)
    # A range that is wanted later is told to who was heard before.
    endpoint.subscribe(parse(CHEAP), now=bus.now)
    publish(bus, [1, 9] * 10)
    assert len(bus.frames(TrackRequest)) == 1
    data = bus.frames(Data)[-2]
    assert isinstance(data, Data)
    assert data.flows


def test_who_asks_again_is_answered_again() -> None:
    """The publisher does not know how far away we are, and that we have waited long enough."""
    lost: list[Repair] = []

    def loses(_sender: int, _receiver: int, frame: TransportFrame) -> bool:
        if isinstance(frame, Repair) and len(lost) < 3:
            lost.append(frame)
            return True
        return isinstance(frame, Data) and frame.seq == 10

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, TRACKS, record=0)
    bus.add(ONE, TRACKS, interest=CHEAP)
    publish(bus, [1] * 20)
    bus.run(5 * SECOND)
    assert 10 in bus.delivered_seqs(ONE)
    assert len(recalls(bus)) == len(bus.frames(Repair)) == 4


def test_the_last_message_before_a_silence_is_repaired() -> None:
    bus = bus_of(ONE, lost=((ONE, 19),))
    publish(bus, [1] * 20)
    bus.run(2 * SECOND)
    assert bus.delivered_seqs(ONE) == list(range(20))


def test_what_was_published_before_it_was_numbered_is_not_missed() -> None:
    bus = bus_of(ONE)
    publish(bus, [1] * 5)
    bus.add(OTHER, TRACKS, interest=CHEAP)
    publish(bus, [1] * 5)
    bus.run(SECOND)
    assert bus.delivered_seqs(OTHER) == list(range(5, 10))
    assert not recalls(bus)


def test_what_is_only_late_is_not_asked_for() -> None:
    bus = bus_of(ONE)
    publish(bus, [1] * 10)
    draw = Random(1)
    for _ in range(50):
        bus.delay_ns = draw.choice((8, 10, 12)) * MILLISECOND
        publish(bus, [1], every_ns=MILLISECOND)
    bus.run(SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(60))
    assert len(recalls(bus)) <= 1


def test_a_publisher_that_restarts_is_told_again() -> None:
    bus = bus_of(ONE, lost=((ONE, 10),))
    publish(bus, [1] * 10)
    bus.detach(PUBLISHER)
    bus.add(PUBLISHER, TRACKS, record=0, epoch=2)
    publish(bus, [1] * 20)
    bus.run(SECOND)
    new = [r.frame.seq for r in bus.deliveries[ONE] if r.frame.epoch == 2]
    assert sorted(new) == list(range(20))
    assert not bus.unseen[ONE]


def test_a_publisher_that_is_gone_leaves_a_count() -> None:
    bus = bus_of(ONE, lost=((ONE, 10), (ONE, 11), (ONE, 12)))
    publish(bus, [1] * 10)
    publish(bus, [1] * 4, every_ns=MILLISECOND)
    bus.run(12 * MILLISECOND)
    bus.detach(PUBLISHER)
    bus.run(60 * SECOND)
    assert sum(unseen.messages for unseen in bus.unseen[ONE]) == 3
    assert {unseen.pub for unseen in bus.unseen[ONE]} == {PUBLISHER}
    assert 2 < len(recalls(bus)) <= 8


def test_a_restart_ends_what_was_missing_of_the_old_epoch() -> None:
    bus = bus_of(ONE, lost=((ONE, 10),))
    publish(bus, [1] * 10)
    publish(bus, [1] * 2, every_ns=MILLISECOND)
    bus.run(12 * MILLISECOND)
    bus.detach(PUBLISHER)
    bus.add(PUBLISHER, TRACKS, record=0, epoch=2)
    publish(bus, [1] * 3)
    bus.run(30 * SECOND)
    assert [(u.epoch, u.messages) for u in bus.unseen[ONE]] == [(1, 1)]


def test_a_publisher_that_numbers_for_nobody_is_left_to_digests() -> None:
    refuses = replace(recovery.DEFAULT, tracked_max=0)
    bus = Bus(loses=lambda _s, me, frame: me == ONE and isinstance(frame, Data) and frame.seq == 90)
    bus.add(PUBLISHER, refuses, record=1)
    bus.add(ONE, replace(TRACKS, digests=True), interest="price = 1")
    publish(bus, [1, *range(2, 12)] * 15)
    # Were it numbered, it would be recalled.
    bus.publish(PUBLISHER, price=1)
    bus.run(2 * SECOND)
    assert not recalls(bus)
    assert bus.frames(Digest)


def test_those_who_share_a_loss_seldom_ask_all() -> None:
    many = range(10, 60)
    bus = bus_of(*many, lost=tuple((me, 40) for me in many))
    publish(bus, [1] * 30)
    bus.run(3 * SECOND)
    publish(bus, [1] * 50)
    bus.run(2 * SECOND)
    for me in many:
        assert sorted(bus.delivered_seqs(me)) == list(range(80))
    assert len(recalls(bus)) < 25
    repairs = [frame for frame in bus.frames(Repair) if isinstance(frame, Repair)]
    assert len(repairs) < 5


def test_it_is_told_again_for_as_long_as_it_holds() -> None:
    bus = bus_of(ONE)
    publish(bus, [1] * 3)
    bus.run(2 * LEASE_NS)
    tracks = [frame for frame in bus.frames(TrackRequest) if isinstance(frame, TrackRequest)]
    assert [track.predicate is None for track in tracks] == [False] + [True] * (len(tracks) - 1)
    assert 5 <= len(tracks) <= 8
    bus.publish(PUBLISHER, price=1)
    data = bus.frames(Data)[-1]
    assert isinstance(data, Data)
    assert data.flows


def test_who_ends_a_subscription_is_numbered_for_no_more() -> None:
    bus = bus_of()
    endpoint = bus.add(ONE, TRACKS)
    bus.run(SECOND)
    number = endpoint.subscribe(parse(CHEAP), now=bus.now)
    publish(bus, [1] * 10)
    endpoint.unsubscribe(number, now=bus.now)
    bus.run(SECOND)
    publish(bus, [1])
    data = bus.frames(Data)[-1]
    assert isinstance(data, Data)
    assert not data.flows


@pytest.mark.parametrize("jump", [10**6, 2**31 - 1, 2**32 - 1])
def test_forged_numbers_cost_little(jump: int) -> None:
    """A liar may have us ask, but not for more than fits, and not for ever."""
    bus = bus_of(ONE)
    publish(bus, [1] * 10)
    last = bus.frames(Data)[-1]
    assert isinstance(last, Data)
    forged = replace_flows(last, seq=last.seq + 1, flow_seq=jump)
    bus.endpoints[ONE].receive(forged, via="bus", now=bus.now)
    bus.run(60 * SECOND)
    assert len(recalls(bus)) <= 6 * 16
    assert sum(unseen.messages for unseen in bus.unseen[ONE]) < 2**31


def replace_flows(frame: Data, *, seq: int, flow_seq: int) -> Data:
    import msgspec

    flows = (FlowTag(frame.flows[0].flow_id, 0.0, flow_seq),)
    return msgspec.structs.replace(frame, seq=seq, flows=flows)


@pytest.mark.parametrize("seed", range(12))
def test_every_message_comes_once_or_is_counted(seed: int) -> None:
    """A tenth of everything is lost, requests and answers too; and then the network is mended."""
    draw = Random(seed)
    is_bad = True

    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        del receiver, frame
        return is_bad and draw.random() < 0.1

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, TRACKS, record=draw.choice((0, 1, 10)))
    for me in (ONE, OTHER):
        bus.add(me, TRACKS, interest=CHEAP)
    wanted: list[int] = []
    for number in range(300):
        price = draw.randrange(10)
        bus.publish(PUBLISHER, price=price)
        wanted += [number] if price < 5 else []
        bus.run(draw.randrange(1, 20) * MILLISECOND)
    is_bad = False
    publish(bus, [1])
    bus.run(90 * SECOND)
    for me in (ONE, OTHER):
        got = Counter(bus.delivered_seqs(me))
        assert max(got.values()) == 1
        begun = _numbered_since(bus, me)
        missed = [number for number in wanted if number not in got and number > begun]
        told = sum(u.messages for u in bus.unseen[me])
        told += sum(a.resolution is ReceiverFate.GIVEN_UP for a in bus.absences[me])
        assert len(missed) <= told <= 2 * len(missed)
        assert len(missed) <= 3


def _numbered_since(bus: Bus, me: int) -> int:
    """The last message that left before `me` was first told how it is numbered."""
    last = -1
    for _, frame in bus.sent:
        if isinstance(frame, TrackReply) and frame.to == me and frame.flows:
            return last
        if isinstance(frame, Data):
            last = frame.seq
    return last
