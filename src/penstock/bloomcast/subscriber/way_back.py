"""The ways back to heads: what each said in FIRST, and what it has asked.

A subscriber is the end of one segment. Symbols of others may come by false crossings, and so may
their FIRST and END: nobody can tell which is meant, so each is answered by its own way, and the
head whose end it is not ignores the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.questions import OPENING
from penstock.bloomcast.settings import SubscriberSettings
from penstock.bloomcast.subscriber.reporter import Question, Reporter
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.base import STREAM_BLOCKS_MAX, Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import First, FirstRequest

_WAYS_MAX: Final = 4
# What FIRST asks, and of a stream one for each block that is open.
_QUESTIONS_MAX: Final = 1 + STREAM_BLOCKS_MAX
# Sends a packet by the port given, unless the head that it is for is at this node.
SendBack: TypeAlias = Callable[[Packet, Port, Instant], None]


@dataclass(slots=True)
class WayBack:
    """To the head of one segment."""

    first: First
    # The version of the segment that it belongs to, and where it begins.
    plan: int
    port: Port
    # By question.
    reporters: BoundedDict[int, Reporter]
    # The first FIRST: what its sender has sent before belongs to another transfer.
    opened_by: Origin


class WaysBack:
    """By segment."""

    def __init__(
        self,
        out: Outbox,
        item: Item,
        settings: SubscriberSettings,
        seeds: Seeds,
        send: SendBack,
    ) -> None:
        self._out: Final = out
        self._item: Final = item
        self._settings: Final = settings
        self._seeds: Final = seeds
        self._send: Final = send
        self._ways: Final[BoundedDict[int, WayBack]] = BoundedDict(_WAYS_MAX, recent=True)

    def get(self, segment: int) -> WayBack | None:
        """The way to the head of a segment."""
        return self._ways.get(segment)

    def clear(self) -> None:
        """Another epoch: FIRST will come again."""
        self._ways.clear()

    def follows(self, packet: Packet) -> bool:
        """Whether a frame of a head is later than its FIRST."""
        way, origin = self._ways.get(packet.header.segment), packet.origin
        return way is not None and origin is not None and is_later(origin, way.opened_by)

    def opened(self, header: Header, body: First, via: Port, origin: Origin) -> WayBack:
        """FIRST has come: it says the way."""
        way = self._ways.use(header.segment)
        if way is None:
            way = WayBack(body, header.plan, via, BoundedDict(_QUESTIONS_MAX), origin)
            self._ways[header.segment] = way
        elif header.plan != way.plan:
            # The same version comes by another port only on a detour.
            way.plan, way.port = header.plan, via
        if way.opened_by.node != origin.node:
            way.opened_by = origin
        way.first = body
        return way

    def asked(self, key: int, question: Question) -> None:
        """A head has asked something."""
        segment = question.header.segment
        way = self._ways.get(segment)
        if way is None:
            return
        reporter = way.reporters.get(key)
        if reporter is None:
            is_of_block, seeds = key != OPENING, self._seeds.child(str(segment))
            reporter = way.reporters[key] = Reporter(
                seeds.child(str(key)) if is_of_block else seeds,
                self._settings,
                is_of_block=is_of_block,
            )
        reporter.asked(question)

    def answered(self, key: int, generation: int) -> None:
        """Symbols of a generation have come."""
        for way in self._ways.values():
            reporter = way.reporters.get(key)
            if reporter is not None:
                reporter.answered(generation)

    def over_before(self, block: int) -> None:
        """Nobody asks about earlier blocks of a stream any more."""
        for way in self._ways.values():
            for key in [key for key in way.reporters if OPENING < key < block]:
                del way.reporters[key]

    def due(self, now: Instant) -> Iterator[Question]:
        """The questions to answer now."""
        for way in self._ways.values():
            for reporter in way.reporters.values():
                question = reporter.due(now)
                if question is not None:
                    yield question

    def next_wakeup(self) -> Instant | None:
        """When the next one is due."""
        reporters = [each for way in self._ways.values() for each in way.reporters.values()]
        return earliest(*[reporter.next_wakeup() for reporter in reporters])

    def put(
        self,
        answered: Header,
        body: AllowedRate | FirstRequest | Report,
        flags: Flag,
        stamp_us: int,
        now: Instant,
        *,
        lacks_from: int = 0,
    ) -> None:
        """Sends to the head of the segment that a frame came by."""
        way = self._ways.get(answered.segment)
        if way is None:
            return
        first = way.first
        header = Header(
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            item=self._item,
            flags=flags,
            segment=answered.segment,
            plan=way.plan,
            generation=answered.generation,
            block=answered.block,
            # Of a report about a stream.
            symbol=lacks_from,
            stamp_us=stamp_us,
        )
        packet = Packet(header=header, body=body, origin=self._out.next_origin())
        self._send(packet, way.port, now)


def is_later(origin: Origin, first: Origin) -> bool:
    """Whether a frame comes from the same node as another, and after it."""
    return origin.node == first.node and origin[1:] > first[1:]
