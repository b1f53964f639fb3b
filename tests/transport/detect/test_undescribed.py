"""Messages of which no record and no digest told: those of an outage, and of the beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.recovery import settings as recovery
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import ALL_MESSAGES
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE = 1, 2


def asked_about(bus: Bus) -> list[RangeRequest]:
    found = [frame for frame in bus.frames(RangeRequest) if isinstance(frame, RangeRequest)]
    return [recall for recall in found if recall.flow_id == ALL_MESSAGES]


def publish(bus: Bus, count: int, **attributes: int) -> None:
    for _ in range(count):
        bus.publish(PUBLISHER, **attributes)
        bus.run(20 * MILLISECOND)


@pytest.mark.parametrize("lost", [11, 60, 400])
def test_an_outage_longer_than_a_record_is_mended(lost: int) -> None:
    """Records of ten tell of the last ten alone."""
    bus = Bus(loses=lambda _s, _r, frame: isinstance(frame, Data) and 20 <= frame.seq < 20 + lost)
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    publish(bus, 20 + lost + 20, topic=1)
    bus.run(10 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(40 + lost))
    assert len(asked_about(bus)) <= 4


def test_of_an_outage_only_what_is_for_us_is_asked_for() -> None:
    bus = Bus(loses=lambda _s, _r, frame: isinstance(frame, Data) and 60 <= frame.seq < 120)
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    for number in range(180):
        bus.publish(PUBLISHER, topic=1 + number % 2)
        bus.run(20 * MILLISECOND)
    bus.run(10 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, 180, 2))
    assert bus.endpoints[ONE].counters["repair_unmatched"] == 0


def test_who_asks_in_vain_asks_again() -> None:
    """The first answer, and the first question, are lost."""
    seen: set[type[TransportFrame]] = set()

    def loses(_sender: int, _receiver: int, frame: TransportFrame) -> bool:
        if isinstance(frame, Data):
            return 20 <= frame.seq < 80
        is_first = isinstance(frame, RangeRequest | Digest) and type(frame) not in seen
        seen.add(type(frame))
        return is_first

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    publish(bus, 100, topic=1)
    bus.run(10 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(100))


def test_what_was_lost_before_the_first_digest_is_found() -> None:
    """One of ten is for us, and records have one entry: digests are asked for, and the past."""
    bus = Bus(loses=lambda _s, _r, frame: isinstance(frame, Data) and frame.seq in (10, 20))
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 0")
    for number in range(100):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(10 * MILLISECOND)
    bus.run(5 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(0, 100, 10))


def test_who_wants_no_digests_does_not_ask() -> None:
    quiet = replace(recovery.DEFAULT, digests=False)
    bus = Bus(loses=lambda _s, _r, frame: isinstance(frame, Data) and 20 <= frame.seq < 80)
    bus.add(PUBLISHER, quiet)
    bus.add(ONE, quiet, interest="topic = 1")
    publish(bus, 100, topic=1)
    bus.run(5 * SECOND)
    assert not bus.frames(RangeRequest)


def test_a_publisher_is_not_made_to_say_much() -> None:
    """Whoever asks about all that ever was gets a few frames at a time."""
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1")
    publish(bus, 1500, topic=1)
    before = len(bus.frames(Digest))
    everything = RangeRequest(
        pub=PUBLISHER,
        epoch=1,
        requester=ONE,
        send_ts_us=0,
        flow_id=ALL_MESSAGES,
        ranges=tuple((first * 0xFFFF, 0xFFFF) for first in range(60)),
    )
    bus.endpoints[PUBLISHER].receive(everything, via="bus", now=bus.now)
    bus.run(SECOND)
    assert 0 < len(bus.frames(Digest)) - before <= 16


def test_a_publisher_that_did_not_hear_us_is_told_again() -> None:
    bus = Bus(
        loses=lambda _s, _r, frame: (
            isinstance(frame, TrackRequest) and len(bus.frames(TrackRequest)) < 3
        )
    )
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 0")
    for number in range(400):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(10 * MILLISECOND)
    assert len(bus.frames(TrackRequest)) == 3
    assert bus.frames(Digest)


def test_a_digest_that_is_full_leaves_at_once() -> None:
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 0")
    for number in range(200):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(10 * MILLISECOND)
    # Eight a second, of twelve messages each: nothing but the period counts.
    slow = len(bus.frames(Digest))
    bus.run(SECOND)
    quiet = len(bus.frames(Digest))
    for number in range(200):
        bus.publish(PUBLISHER, topic=number % 10)
        bus.run(MILLISECOND)
    # In a fifth of a second there would be two: sixteen messages are worth one.
    assert len(bus.frames(Digest)) - quiet >= 10
    assert slow <= 20
