"""Requests through a network that knows no such class: by attributes, one for each bit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.testing.shared_bus import ENCODER
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.requests_as_messages import RequestsAsMessages
from penstock.wire import encode
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.sub import Sub
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE, OTHER, STRANGER = 1, 2, 3, 4
QUIET = replace(recovery.DEFAULT, digests=False, requests_as="message")
PEERS_ONLY = replace(
    QUIET, publisher_answers=False, names_first=False, cache=CacheSettings(k_min=50)
)


class ClasslessBus(Bus):
    """Routes every frame by its message, and has never heard of anything else."""

    def carry(
        self, sender: int, frame: TransportFrame, traffic: TrafficClass, now: Instant
    ) -> None:
        assert traffic is TrafficClass.DATA
        assert all(
            class_ is traffic
            for port in self.ports.values()
            for class_, _ in port.subscriptions.values()
        )
        super().carry(sender, frame, traffic, now)


def bus_where(one: int, lost: int) -> ClasslessBus:
    return ClasslessBus(
        loses=lambda _s, receiver, f: isinstance(f, Data) and (receiver, f.seq) == (one, lost)
    )


def publish(bus: Bus, **attributes: int) -> None:
    for _ in range(20):
        bus.publish(PUBLISHER, **attributes)
        bus.run(20 * MILLISECOND)
    bus.run(3 * SECOND)


# One with so many attributes that its Bloom set has more bits than a message has attributes.
WIDE = {"topic": 1, **{f"attribute{i}": i for i in range(11)}}


@pytest.mark.spec("R7")
@pytest.mark.parametrize("settings_", [QUIET, PEERS_ONLY])
@pytest.mark.parametrize("attributes", [{"topic": 1}, WIDE])
def test_brokers_that_know_no_requests_carry_them(
    settings_: RecoverySettings, attributes: dict[str, int]
) -> None:
    bus = bus_where(ONE, 5)
    bus.add(PUBLISHER, settings_)
    for me in (ONE, OTHER):
        bus.add(me, settings_, interest="topic = 1")
    bus.add(STRANGER, settings_, interest="topic = 2")
    publish(bus, **attributes)
    assert sorted(bus.delivered_seqs(ONE)) == list(range(20))
    repairer = PUBLISHER if settings_.publisher_answers else OTHER
    assert {r.repairer for r in bus.frames(Repair) if isinstance(r, Repair)} == {repairer}
    requests = [r for r in bus.frames(Request) if isinstance(r, Request)]
    is_folded = {request.message.attributes["penstock.request"] == 61 for request in requests}
    assert is_folded == {attributes is WIDE}


def test_scopes_hold() -> None:
    here = replace(PEERS_ONLY, scope="here")
    bus = bus_where(ONE, 5)
    bus.add(PUBLISHER, here)
    bus.add(ONE, here, interest="topic = 1")
    bus.add(OTHER, replace(here, scope="there"), interest="topic = 1")
    publish(bus, topic=1)
    assert bus.frames(Request)
    assert 5 not in bus.delivered_seqs(ONE)
    assert not bus.frames(Repair)


NAMES = st.sampled_from([f"name{i}" for i in range(20)])
MESSAGES = st.dictionaries(NAMES, st.integers(0, 3), max_size=20).map(Message)


@st.composite
def filters(draw: st.DrawFn, message: Message) -> Filter:
    """Most of them match."""
    chosen = (
        draw(st.sets(st.sampled_from(sorted(message.attributes)))) if message.attributes else ()
    )
    own = [Constraint(name, Op.EQ, message.attributes[name]) for name in sorted(chosen)]
    other = draw(
        st.lists(st.builds(Constraint, NAMES, st.just(Op.EQ), st.integers(0, 3)), max_size=1)
    )
    return Filter([*own, *other])


@pytest.mark.spec("R7")
@given(st.data())
def test_whoever_hears_a_request_by_its_class_hears_it_by_its_bits(data: st.DataObject) -> None:
    message = data.draw(MESSAGES)
    predicate = Predicate(data.draw(st.lists(filters(message), min_size=1, max_size=5)))
    asked = ENCODER.message_bits(message)
    by_class = any(ENCODER.filter_bits(f) & ~asked == 0 for f in predicate.filters)
    below = LoopbackNetwork()
    RequestsAsMessages(below, ENCODER).subscribe(1, predicate, traffic=TrafficClass.REQUEST, now=0)
    request = Request(
        pub=1, epoch=1, seq=1, requester=2, send_ts_us=0, age_100us=0, delay_100us=0, round=0,
        is_unicast=False, bloom=asked, bloom_bytes=32,
    )  # fmt: skip
    by_bits = any(part.matches(request.message) for _, part in below.subscriptions.values())
    assert by_bits or not by_class
    if asked.bit_count() <= 63 and max(len(f.constraints) for f in predicate.filters) <= 3:
        # Nothing was folded or left out: nobody else hears it either.
        assert by_bits == by_class


def offers(
    interest: str, number: int = 1
) -> tuple[RequestsAsMessages[TransportFrame], LoopbackNetwork]:
    below = LoopbackNetwork()
    plain = RequestsAsMessages(below, ENCODER)
    plain.subscribe(number, parse(interest), traffic=TrafficClass.REQUEST, now=0)
    return plain, below


def test_every_part_of_an_offer_fits_a_datagram_and_is_taken_back() -> None:
    many = [" and ".join(f"name{i}of{j} = {i}" for i in range(5)) for j in range(8)]
    plain, below = offers(" or ".join(many))
    assert len(below.subscriptions) == 4
    for number, (_, predicate) in below.subscriptions.items():
        encode(Sub(subscription=number, traffic=TrafficClass.DATA, predicate=predicate))
    plain.subscribe(1, parse("x = 1"), traffic=TrafficClass.REQUEST, now=0)
    assert len(below.subscriptions) == 1
    plain.unsubscribe(1, now=0)
    assert not below.subscriptions


def test_what_another_part_covers_is_not_asked_for() -> None:
    assert offers("x = 1 or x = 1 and y = 2")[1].subscriptions == offers("x = 1")[1].subscriptions


def test_messages_pass_as_they_are() -> None:
    plain, below = offers("x = 1")
    plain.subscribe(2, parse("y = 1"), now=0)
    assert parse("y = 1") in [p for _, p in below.subscriptions.values()]


def test_requests_are_a_class_or_messages() -> None:
    with pytest.raises(UsageError, match="requests_as is 'class' or 'message'"):
        RecoverySettings(requests_as="letters")  # type: ignore[arg-type]
