"""Cases in which a loss once went unseen, a node died, or one frame cost too much."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.recovery import settings as recovery
from penstock.wire import size_of
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.track_request import TrackRequest
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, STRANGER = 1, 2, 66


class Line:
    """Loses everything while it is cut."""

    def __init__(self) -> None:
        self.is_cut = False

    def __call__(self, _sender: int, _receiver: int, _frame: TransportFrame) -> bool:
        return self.is_cut


@pytest.mark.parametrize(("record", "share"), [(0, 1.0), (1, 0.3), (10, 0.05)])
@pytest.mark.parametrize("outage_s", [3, 6, 20])
def test_an_outage_longer_than_digests_are_kept_is_mended(
    record: int, share: float, outage_s: int
) -> None:
    draw, line = Random(1), Line()
    bus = Bus(loses=line)
    bus.add(PUBLISHER, recovery.DEFAULT, record=record)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    wanted = set()
    for is_cut, seconds in ((False, 5), (True, outage_s), (False, 10)):
        line.is_cut = is_cut
        for _ in range(50 * seconds):
            topic = 1 if draw.random() < share else 2
            seq = bus.publish(PUBLISHER, topic=topic).seq
            wanted |= {seq} if topic == 1 else set()
            bus.run(SECOND // 50)
    bus.run(30 * SECOND)
    first, *others = bus.delivered_seqs(ONE)
    assert {seq for seq in wanted if seq > first} == {*others}


@pytest.mark.parametrize(("delay_us", "cut_ms"), [(100, 50), (1_000, 100), (10_000, 1_500)])
def test_a_hiccup_while_it_is_asked_about_is_outlasted(delay_us: int, cut_ms: int) -> None:
    line = Line()
    bus = Bus(delay_ns=delay_us * 1_000, loses=line)
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")

    def publish(count: int) -> None:
        for _ in range(count):
            bus.publish(PUBLISHER, topic=1)
            bus.run(10 * MILLISECOND)

    publish(50)
    line.is_cut = True
    publish(40)
    line.is_cut = False
    bus.publish(PUBLISHER, topic=1)
    bus.run(delay_us * 1_000 + MILLISECOND)
    line.is_cut = True
    bus.run(cut_ms * MILLISECOND)
    line.is_cut = False
    publish(50)
    bus.run(30 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(141))


def test_names_that_are_told_while_others_are_on_their_way_are_heard() -> None:
    lost: set[int] = set()
    bus = Bus(
        delay_ns=20 * MILLISECOND,
        loses=lambda _s, _r, frame: isinstance(frame, Data) and frame.seq in lost,
    )
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    endpoint = bus.add(ONE, recovery.DEFAULT, interest="topic = 0")
    began: int | None = None
    for number in range(1_500):
        is_rare = number % 20 == 7
        if began is not None and is_rare and number > began + 200:
            lost |= {number} if number // 20 % 5 == 0 else set()
        bus.publish(PUBLISHER, topic=number % 10, **({"rare": 1} if is_rare else {}))
        bus.run(10 * MILLISECOND)
        if began is None and bus.frames(TrackRequest):
            # The first names are on their way.
            began = number
            endpoint.subscribe(parse("rare = 1"), now=bus.now)
    bus.run(5 * SECOND)
    assert len(lost) > 5
    assert lost <= {*bus.delivered_seqs(ONE)}


def test_a_digest_fits_its_frame_whatever_the_messages_are_like() -> None:
    bus = Bus()
    publisher = bus.add(PUBLISHER, recovery.DEFAULT)
    bus.publish(PUBLISHER, topic=1)
    flows = parse(" or ".join(f"not exists z{i}" for i in range(40)))
    for track in (
        TrackRequest(
            subscriber=STRANGER, pub=PUBLISHER, token=0, send_ts_us=0, is_digest_subscription=True
        ),
        TrackRequest(subscriber=STRANGER, pub=PUBLISHER, token=1, send_ts_us=0, predicate=flows),
    ):
        publisher.receive(track, via="bus", now=bus.now)
    for number in range(60):
        attributes = {f"a{number}_{i}": number * 100 + i for i in range(10)}
        publisher.publish(Message(attributes), now=bus.now)
    bus.run(SECOND)
    told = [digest for digest in bus.frames(Digest) if isinstance(digest, Digest)]
    assert sum(digest.count for digest in told) >= 60
    assert all(size_of(digest) <= 1_400 for digest in told)


def test_a_number_far_ahead_costs_no_more_than_one_near() -> None:
    """In time as well: of two million numbers none but the last are looked at."""
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    for _ in range(20):
        bus.publish(PUBLISHER, topic=1)
        bus.run(20 * MILLISECOND)
    last = bus.frames(Data)[-1]
    assert isinstance(last, Data)
    forged = msgspec.structs.replace(last, seq=last.seq + 2_000_000)
    bus.endpoints[ONE].receive(forged, via="bus", now=bus.now)
    bus.run(30 * SECOND)
    assert len(bus.frames(RangeRequest)) <= 9


def test_a_recall_of_a_whole_flow_is_answered_in_parts() -> None:
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="price < 5")
    for _ in range(500):
        bus.publish(PUBLISHER, price=1)
        bus.run(10 * MILLISECOND)
    recall = RangeRequest(
        pub=PUBLISHER,
        epoch=1,
        requester=STRANGER,
        send_ts_us=0,
        flow_id=0,
        ranges=((0, 1_000),),
    )
    bus.endpoints[PUBLISHER].receive(recall, via="bus", now=bus.now)
    bus.run(SECOND)
    assert 0 < len(bus.frames(Repair)) <= 64


def test_who_never_answers_is_not_told_for_ever() -> None:
    bus = Bus()
    bus.add(PUBLISHER, None)
    bus.add(ONE, recovery.DEFAULT, interest="price < 5")
    for _ in range(3):
        bus.publish(PUBLISHER, price=1)
        bus.run(SECOND)
    bus.run(1_000 * SECOND)
    assert len(bus.frames(TrackRequest)) == 10
    bus.publish(PUBLISHER, price=1)
    bus.run(SECOND)
    assert len(bus.frames(TrackRequest)) > 10


def test_a_repair_of_what_was_before_we_heard_anybody_is_not_for_us() -> None:
    """A publisher that was forgotten may be heard again: what came before must not come twice."""
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.publish(PUBLISHER, topic=1)
    first = bus.frames(Data)[0]
    assert isinstance(first, Data)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    for _ in range(5):
        bus.publish(PUBLISHER, topic=1)
        bus.run(10 * MILLISECOND)
    repair = Repair(
        original=first, repairer=STRANGER, requester=STRANGER, echo_ts_us=0, hold_100us=0
    )
    bus.endpoints[ONE].receive(repair, via="bus", now=bus.now)
    bus.run(SECOND)
    assert bus.delivered_seqs(ONE) == [1, 2, 3, 4, 5]
