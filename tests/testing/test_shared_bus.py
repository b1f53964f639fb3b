"""Several endpoints on one bus: who hears what, when, and what is lost on the way."""

from __future__ import annotations

from dataclasses import replace

from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.testing.shared_bus import SharedBus
from penstock.transport.recovery import settings as recovery
from penstock.transport.settings import EndpointSettings
from penstock.wire.frames.data import Data
from penstock.wire.frames.request import Request

PUBLISHER, ONE, OTHER = 1, 2, 3
PLAIN = EndpointSettings()
RECOVERING = EndpointSettings(recovery=replace(recovery.DEFAULT, digests=False))


def bus_of(settings: EndpointSettings) -> SharedBus:
    bus = SharedBus(delay_ns=5 * MILLISECOND)
    bus.attach(PUBLISHER, settings)
    bus.attach(ONE, settings, interest=parse("x = 1 or x = 2"))
    bus.attach(OTHER, settings, interest=parse("x = 2 or x = 3"))
    return bus


def publish(bus: SharedBus, *values: int) -> None:
    for value in values:
        bus.publish(PUBLISHER, x=value)
        bus.run(20 * MILLISECOND)


def test_each_gets_what_it_wants_after_the_delay() -> None:
    bus = bus_of(PLAIN)
    began = bus.now
    publish(bus, 1, 2, 3, 4)
    assert bus.delivered_seqs(ONE) == [0, 1]
    assert bus.delivered_seqs(OTHER) == [1, 2]
    assert bus.deliveries[ONE][0].arrived_ns == began + 5 * MILLISECOND
    assert bus.sent == [(PUBLISHER, frame) for frame in bus.frames(Data)]


def test_time_passes_as_long_as_it_is_told_to() -> None:
    bus = bus_of(PLAIN)
    began = bus.now
    bus.publish(PUBLISHER, x=1)
    bus.run(5 * MILLISECOND)
    assert (bus.now, bus.delivered_seqs(ONE)) == (began + 5 * MILLISECOND, [])
    bus.run(1)
    assert bus.delivered_seqs(ONE) == [0]


def test_a_lost_copy_is_lost_to_its_receiver_alone() -> None:
    bus = bus_of(PLAIN)
    bus.loses = lambda sender, receiver, _frame: (sender, receiver) == (PUBLISHER, ONE)
    publish(bus, 2)
    assert (bus.delivered_seqs(ONE), bus.delivered_seqs(OTHER)) == ([], [0])


def test_who_can_answer_a_request_hears_it() -> None:
    bus = bus_of(RECOVERING)
    bus.loses = lambda _sender, receiver, frame: (
        receiver == ONE and isinstance(frame, Data) and frame.seq == 1
    )
    publish(bus, 2, 2, 2, 2)
    bus.run(3 * SECOND)
    assert bus.frames(Request)
    assert sorted(bus.delivered_seqs(ONE)) == [0, 1, 2, 3]


def test_an_endpoint_that_is_gone_hears_nothing_and_may_come_back() -> None:
    bus = bus_of(PLAIN)
    publish(bus, 1)
    bus.publish(PUBLISHER, x=1)
    bus.detach(ONE)
    publish(bus, 1)
    bus.attach(ONE, PLAIN, epoch=2, interest=parse("x = 1 or x = 2"))
    publish(bus, 1)
    assert bus.delivered_seqs(ONE) == [0, 3]
