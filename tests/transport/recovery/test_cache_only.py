"""Nodes that keep messages for others, and have no application of their own."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import ReceiverFate
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, KEEPER = 1, 2, 3
QUIET = replace(recovery.DEFAULT, digests=False)
KEEPS = replace(recovery.DEFAULT, cache=CacheSettings(k_min=50, k_max=50))
TOPIC = parse("topic = 1")


def lossy(*lost: tuple[int, int]) -> Bus:
    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        return isinstance(frame, Data) and (receiver, frame.seq) in lost

    return Bus(loses=loses)


def publish(bus: Bus, count: int = 20, topic: int = 1) -> None:
    for _ in range(count):
        bus.publish(PUBLISHER, topic=topic)
        bus.run(20 * MILLISECOND)


def test_a_keeper_answers_for_a_publisher_that_died() -> None:
    bus = lossy((ONE, 19))
    bus.add(PUBLISHER, QUIET)
    bus.add(ONE, QUIET, interest="topic = 1")
    keeper = bus.add(KEEPER, KEEPS)
    offer = keeper.open_cache(TOPIC, now=bus.now)
    publish(bus)
    bus.publish(PUBLISHER, topic=1)
    bus.detach(PUBLISHER)
    bus.run(5 * SECOND)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(21))
    assert [r.repairer for r in bus.frames(Repair) if isinstance(r, Repair)] == [KEEPER]
    assert keeper.counters["answered"] == 1
    # It has no application, and orders nothing.
    assert not bus.deliveries[KEEPER]
    assert not bus.absences[KEEPER]
    keeper.close_cache(offer, now=bus.now)
    # What is for it alone still comes.
    assert len(bus.ports[KEEPER].subscriptions) == 1


def test_a_keeper_asks_for_nothing_itself() -> None:
    """Neither for what it lost, nor for digests where records tell of little."""
    bus = lossy((KEEPER, 45))
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    keeper = bus.add(KEEPER, KEEPS, record=1)
    keeper.open_cache(TOPIC, now=bus.now)
    for i in range(60):
        publish(bus, 1, topic=1 if i % 5 == 0 else 2)
    bus.run(10 * SECOND)
    assert keeper.counters["asked"] == 0
    assert not bus.frames(Digest)
    assert keeper.recovery is not None
    assert keeper.recovery.cache.messages == 11


def test_a_keeper_keeps_the_repairs_that_it_hears() -> None:
    shout = replace(QUIET, reply="publish")
    bus = lossy((ONE, 5), (KEEPER, 5))
    bus.add(PUBLISHER, shout)
    bus.add(ONE, shout, interest="topic = 1")
    keeper = bus.add(KEEPER, KEEPS)
    keeper.open_cache(TOPIC, now=bus.now)
    publish(bus)
    bus.run(3 * SECOND)
    assert 5 in bus.delivered_seqs(ONE)
    assert keeper.recovery is not None
    assert keeper.recovery.cache.messages == 20
    assert not bus.deliveries[KEEPER]


@pytest.mark.parametrize("later", [{"seq": 9_000}, {"epoch": 2}])
def test_what_is_kept_is_answered_for_however_much_came_since(later: dict[str, int]) -> None:
    """Which numbers came is not remembered for so long, where most do not."""
    bus = Bus()
    bus.add(PUBLISHER, replace(QUIET, publisher_answers=False))
    keeper = bus.add(KEEPER, KEEPS)
    keeper.open_cache(TOPIC, now=bus.now)
    first = bus.publish(PUBLISHER, topic=1)
    bus.run(SECOND)
    keeper.receive(msgspec.structs.replace(first, **later), via="bus", now=bus.now)
    assert not keeper.has_received(first.id)
    request = Request(
        pub=PUBLISHER, epoch=1, seq=0, requester=ONE, send_ts_us=0, age_100us=0, delay_100us=0,
        round=1, is_unicast=False, bloom=0, bloom_bytes=32,
    )  # fmt: skip
    keeper.receive(request, via="bus", now=bus.now)
    bus.run(5 * SECOND)
    (repair,) = bus.frames(Repair)
    assert isinstance(repair, Repair)
    assert repair.original.id == first.id


def test_an_offer_and_a_subscription_to_the_same_end_one_by_one() -> None:
    bus = Bus()
    bus.add(PUBLISHER, QUIET)
    both = bus.add(ONE, KEEPS, interest="topic = 1")
    (subscription,) = both._subscriptions
    offer = both.open_cache(TOPIC, now=bus.now)
    other = both.open_cache(TOPIC, now=bus.now)
    both.unsubscribe(subscription, now=bus.now)
    publish(bus)
    assert both.recovery is not None
    assert (both.recovery.cache.messages, bus.delivered_seqs(ONE)) == (20, [])
    both.close_cache(offer, now=bus.now)
    publish(bus, 5)
    assert both.recovery.cache.messages == 25
    both.close_cache(other, now=bus.now)
    publish(bus, 5)
    assert both.recovery.cache.messages == 25
    assert both.counters["unmatched"] == 0
    with pytest.raises(UsageError, match="no offer"):
        both.close_cache(other, now=bus.now)


def test_who_does_not_volunteer_keeps_nothing_and_makes_no_offers() -> None:
    bus = lossy((ONE, 5))
    selfish = replace(QUIET, volunteers=False)
    bus.add(PUBLISHER, replace(QUIET, publisher_answers=False))
    bus.add(ONE, QUIET, interest="topic = 1")
    other = bus.add(KEEPER, selfish, interest="topic = 1")
    publish(bus)
    bus.run(60 * SECOND)
    assert [a.resolution for a in bus.absences[ONE]] == [ReceiverFate.GIVEN_UP]
    assert other.recovery is not None
    assert other.recovery.cache.messages == 0
    for settings in (selfish, None):
        with pytest.raises(UsageError, match="takes recovery"):
            bus.add(9, settings).open_cache(TOPIC, now=bus.now)
