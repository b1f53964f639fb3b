"""A relay point as the paper prints it: holds and merges NAKs, forwards what was asked for."""

from __future__ import annotations

import msgspec
import pytest

from penstock.bloomcast.literal.nak import naks, numbers_in
from penstock.bloomcast.literal.relay_point import LiteralRelayPoint
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import MILLISECOND
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, SegmentEnd, SegmentFilter
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First

ITEM = Item(1, 2)
PARENT = 3
HOLD = 100 * MILLISECOND
FIRST = First(
    up_choice=2,
    up_links=0b11,
    up_ttl=4,
    epoch=1,
    object_id=bytes(16),
    kind=ObjectKind.FILE,
    length_bytes=100 * 1_024,
    symbol_bytes=1_024,
    blocks=1,
    block_symbols=100,
    manifest_bytes=0,
    hold_100us=0,
)


class Relay:
    """A relay point with segments 4 and 5, and what it sent."""

    def __init__(self, *segments: int) -> None:
        self.sent: list[Packet] = []
        self.machine = LiteralRelayPoint(
            Outbox(9, 1), ITEM, settings=CastSettings(), forward=self.sent.append
        )
        self.configure(0, *(segments or (4, 5)))

    def configure(self, version: int, *segments: int, parent: int = PARENT) -> None:
        filters = tuple(
            SegmentFilter(
                segment=number,
                plan=version,
                choice=1,
                links=1 << number,
                depth=2,
                up_choice=0,
                up_links=1 << number + 10,
            )
            for number in segments
        )
        ends = tuple(SegmentEnd(segment=each, node=each, path=1 << each) for each in segments)
        config = RelayConfig(
            version=version,
            page=0,
            pages=1,
            levels=1,
            parent_segment=parent,
            segments=filters,
            ends=ends,
        )
        self.machine.configure(config, 0)

    def first(self, generation: int, *, segment: int = PARENT) -> list[Packet]:
        header = Header(ttl=2, choice=0, links=1, segment=segment, generation=generation)
        return self._receive(Packet(header=header, body=FIRST, origin=Origin(1, 1, 1)))

    def data(self, generation: int, *numbers: int) -> dict[int, tuple[int, ...]]:
        """Symbols by the segment that they go to."""
        header = Header(
            ttl=2,
            choice=0,
            links=1,
            segment=PARENT,
            generation=generation,
            flags=Flag.REPAIR if generation else Flag(0),
            symbol=numbers[0],
        )
        sent = self._receive(Packet(header=header, body=Symbols(numbers=numbers), origin=None))
        return {
            packet.header.segment: packet.body.numbers
            for packet in sent
            if isinstance(packet.body, Symbols)
        }

    def nak(self, segment: int, *numbers: int, generation: int = 0, at: int = 0) -> None:
        header = Header(ttl=2, choice=0, links=1, segment=segment, generation=generation)
        [nak] = naks(segment, numbers)
        self.machine.on_report(header, nak, at)

    def wake(self, at: int) -> list[tuple[int, list[int]]]:
        """The NAKs that go up, by generation."""
        before = len(self.sent)
        self.machine.wake(at)
        return [
            (packet.header.generation, list(numbers_in(packet.body)))
            for packet in self.sent[before:]
            if isinstance(packet.body, Report)
        ]

    def _receive(self, packet: Packet) -> list[Packet]:
        before = len(self.sent)
        self.machine.on_packet(packet, 0)
        return self.sent[before:]


def test_naks_that_come_within_the_hold_go_up_as_one() -> None:
    relay = Relay()
    relay.first(0)
    relay.nak(4, 7, at=0)
    relay.nak(5, 7, 8, at=HOLD // 2)
    assert relay.machine.next_wakeup() == HOLD
    assert relay.wake(HOLD - 1) == []
    assert relay.wake(HOLD) == [(0, [7, 8])]
    header = relay.sent[-1].header
    assert (header.links, header.choice, header.ttl) == (0b11, 2, 4)
    assert header.segment == PARENT
    # The hold is over: a further one is sent again, as printed.
    relay.nak(5, 7, at=2 * HOLD)
    assert relay.wake(3 * HOLD) == [(0, [7])]


def test_repairs_go_with_full_filters_to_segments_that_asked() -> None:
    relay = Relay()
    relay.first(0)
    assert relay.data(0, 0, 1, 2, 3) == {4: (0, 1, 2, 3), 5: (0, 1, 2, 3)}
    relay.nak(4, 1)
    relay.nak(5, 1, 3)
    relay.first(1)
    # [P3] For the last packets of generation 0, and one of generation 1.
    relay.nak(4, 2)
    relay.nak(4, 3, generation=1)
    assert relay.data(1, 1, 2, 3) == {4: (1, 2), 5: (1, 3)}
    assert relay.sent[-1].header.links == 1 << 5
    relay.first(2)
    assert relay.data(2, 3) == {4: (3,)}


def test_each_generation_of_naks_goes_up_by_itself() -> None:
    relay = Relay()
    relay.first(0)
    relay.first(1)
    relay.nak(4, 1, generation=0)
    relay.nak(4, 2, generation=1)
    assert relay.wake(HOLD) == [(0, [1]), (1, [2])]


@pytest.mark.parametrize("generation", [1, 2])
def test_a_new_relay_does_not_know_who_asked(generation: int) -> None:
    relay = Relay()
    relay.first(generation)
    assert relay.data(generation, 1) == {4: (1,), 5: (1,)}
    relay.nak(4, 2, generation=generation)
    relay.first(generation + 1)
    assert relay.data(generation + 1, 2) == {4: (2,)}


def test_a_plan_takes_effect_with_the_next_generation() -> None:
    relay = Relay()
    relay.first(0)
    relay.configure(1, 4, parent=6)
    assert relay.data(0, 1) == {4: (1,), 5: (1,)}
    # FIRST by the old segment: the publisher has yet to learn of the plan.
    assert len(relay.first(1)) == 2
    [first] = relay.first(2, segment=6)
    assert isinstance(first.body, First)
    assert first.body == msgspec.structs.replace(FIRST, up_choice=0, up_links=1 << 14, up_ttl=2)
    assert relay.data(2, 1) == {}


def test_a_relay_that_is_none_any_more_stops_with_the_next_generation() -> None:
    relay = Relay()
    relay.first(0)
    relay.configure(1, parent=0)
    assert relay.data(0, 1) == {4: (1,), 5: (1,)}
    assert not relay.machine.is_stopped
    assert relay.first(1) == []
    assert relay.machine.is_stopped


def test_without_a_way_back_naks_wait_for_the_next_generation() -> None:
    relay = Relay()
    relay.data(0, 1)
    relay.nak(4, 0)
    assert relay.wake(HOLD) == []
    assert relay.machine.next_wakeup() != HOLD
