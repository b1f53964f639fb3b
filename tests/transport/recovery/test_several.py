"""Several subscriptions of one endpoint to the same messages, each with its own way to order."""

from __future__ import annotations

from dataclasses import replace

from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import ReceiverFate
from penstock.transport.recovery import settings as recovery
from penstock.transport.settings import DEFAULT, OFF
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.request import Request
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE = 1, 2
QUIET = replace(recovery.DEFAULT, digests=False)


def publish(bus: Bus, count: int, *, topic: int = 1, every_ns: int = 20 * MILLISECOND) -> None:
    for _ in range(count):
        bus.publish(PUBLISHER, topic=topic)
        bus.run(every_ns)


def test_what_one_subscription_gives_up_another_still_gets() -> None:
    def loses(_sender: int, receiver: int, frame: TransportFrame) -> bool:
        return isinstance(frame, Request) or (
            isinstance(frame, Data) and (receiver, frame.seq) == (ONE, 5)
        )

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, QUIET)
    one = bus.add(ONE, QUIET, interest="topic = 1")
    other = one.subscribe(parse("topic in (1, 2)"), now=bus.now)
    publish(bus, 20)
    assert bus.frames(Request)
    # It gives up what it misses, and so it must not be asked for on its account any more.
    one.unsubscribe(other, now=bus.now)
    bus.loses = lambda _sender, _receiver, _frame: False
    bus.run(5 * SECOND)
    fates = {a.subscription: a.resolution for a in bus.absences[ONE]}
    assert fates[other] is ReceiverFate.GIVEN_UP
    assert list(fates.values()).count(ReceiverFate.REPAIRED) == 1
    assert 5 in bus.delivered_seqs(ONE)


def test_who_ceased_to_order_takes_no_notice_of_digests() -> None:
    bus = Bus()
    bus.add(PUBLISHER, recovery.DEFAULT, record=1)
    one = bus.add(ONE, recovery.DEFAULT, record=1, interest="topic = 1")
    (subscription,) = one._subscriptions
    for number in range(60):
        publish(bus, 1, topic=1 if number % 10 == 0 else 2, every_ns=100 * MILLISECOND)
    told = len(bus.frames(Digest))
    assert told
    one.reconfigure(subscription, OFF, now=bus.now)
    bus.loses = lambda _s, receiver, f: isinstance(f, Data) and receiver == ONE
    publish(bus, 1)
    bus.run(5 * SECOND)
    assert len(bus.frames(Digest)) > told
    assert not bus.absences[ONE]
    one.reconfigure(subscription, DEFAULT, now=bus.now)
    publish(bus, 1)
    bus.run(5 * SECOND)
    assert [a.resolution for a in bus.absences[ONE]][-1] is ReceiverFate.REPAIRED


def test_who_ceased_to_order_gets_repairs_that_another_asked_for() -> None:
    bus = Bus(loses=lambda _s, receiver, f: isinstance(f, Data) and (receiver, f.seq) == (ONE, 5))
    bus.add(PUBLISHER, QUIET)
    one = bus.add(ONE, QUIET, interest="topic = 1")
    drops = replace(DEFAULT, late="drop")
    other = one.subscribe(parse("topic = 1"), ordering=drops, now=bus.now)
    publish(bus, 3)
    one.reconfigure(other, replace(drops, latch=None), now=bus.now)
    publish(bus, 17)
    bus.run(3 * SECOND)
    fates = [r.fate for r in bus.deliveries[ONE] if (r.subscription, r.frame.seq) == (other, 5)]
    assert fates == [ReceiverFate.REPAIRED]
