"""A relay point of one transfer, as paper 004 prints it.

It holds NAKs for a while and merges them, notes which of its segments asked, and forwards repairs
into those, each with the full filter.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.literal.full_filters import FullFilters
from penstock.bloomcast.literal.nak import naks, numbers_in, packet_number
from penstock.bloomcast.literal.nak_table import NakTable
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.head_plan import HeadPlan, PlanPages
from penstock.bloomcast.segment.segment_head import Forward
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First, FirstRequest, Stop


class LiteralRelayPoint:
    """Of one transfer."""

    def __init__(
        self, out: Outbox, item: Item, *, settings: CastSettings, forward: Forward
    ) -> None:
        self._out: Final = out
        self._item: Final = item
        self._settings: Final = settings
        self._forward: Final = forward
        self._pages: Final = PlanPages()
        self.head: Final = FullFilters(out, item, forward=forward)
        self.parent_segment = -1
        # The next plan and its parent segment: they take effect with FIRST of a generation.
        self._next: tuple[HeadPlan, int] | None = None
        self._naks: Final = NakTable()
        # By generation, the packets that are held; they go up at `_hold_until`.
        self._held: Final[dict[int, dict[int, None]]] = {}
        self._hold_until: Instant | None = None
        # The way back, and in which version of the segment it was told.
        self._first: First | None = None
        self._plan = 0
        self._forget_at: Instant | None = None
        self.is_stopped = False

    # From the controller.

    def configure(self, config: RelayConfig, now: Instant) -> None:
        """Takes a page of its configuration."""
        plan = self._pages.add(config)
        if plan is None:
            return
        self._touch(now)
        self._next = (plan, config.parent_segment)
        if self._naks.latest < 0:
            self._apply()

    def _apply(self) -> None:
        assert self._next is not None
        (self.head.plan, parent_segment), self._next = self._next, None
        if self.head.plan.is_empty():
            self.is_stopped = True
        else:
            self.parent_segment = parent_segment

    def set_local_end(self, is_there: bool) -> None:
        """A subscriber at this node asks by itself."""

    # From the parent.

    def on_packet(self, packet: Packet, now: Instant) -> None:
        """A packet of the parent's segment."""
        header, body = packet.header, packet.body
        if self._next is not None and isinstance(body, First):
            self._look_at_plan(header)
        if header.segment != self.parent_segment or self.is_stopped:
            return
        self._touch(now)
        if isinstance(body, Symbols):
            self._naks.begin(header.generation)
            self._on_symbols(header, body)
        elif isinstance(body, First):
            self._naks.begin(header.generation)
            self._first, self._plan = body, header.plan
            self.head.send_first(header, body)
        elif isinstance(body, Stop):
            self.is_stopped = True
            self.head.send(header, lambda _segment: body)

    def _look_at_plan(self, header: Header) -> None:
        """FIRST of a new generation comes by the segment that the new plan says, if that holds."""
        assert self._next is not None
        plan, parent_segment = self._next
        expected = self.parent_segment if plan.is_empty() else parent_segment
        if header.generation > self._naks.latest and header.segment == expected:
            self._apply()

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        asked_in = header.generation - 1
        if not header.flags & Flag.REPAIR or not self._naks.has(asked_in):
            # A relay that is new to the transfer does not know who asked.
            self.head.send(header, lambda _segment: body)
            return
        for segment in self.head:
            asked = self._naks.asked(asked_in, segment)
            numbers = tuple(
                [each for each in body.numbers if packet_number(header.block, each) in asked]
            )
            if numbers:
                onward = Symbols(numbers=numbers)
                self.head.send(header, lambda _segment, onward=onward: onward, [segment])  # type: ignore[misc]

    # From its ends.

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """A NAK: noted, and held for others."""
        self._touch(now)
        generation = header.generation
        numbers = dict.fromkeys(numbers_in(report))
        if self._naks.add(generation, header.segment, numbers):
            self._held.setdefault(generation, {}).update(numbers)
            if self._hold_until is None:
                self._hold_until = now + self._settings.literal.hold_ns

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """Nobody asks for FIRST here."""

    def on_rate(self, header: Header, body: AllowedRate, now: Instant) -> None:
        """Nobody controls the rate here."""

    # Time.

    def wake(self, now: Instant) -> None:
        """Sends what was held."""
        if self._hold_until is not None and self._hold_until <= now:
            self._hold_until = None
            self._send_naks()
        if self._forget_at is not None and self._forget_at <= now:
            self.is_stopped = True

    def next_wakeup(self) -> Instant | None:
        """When it sends NAKs, or gives up the transfer."""
        return earliest(self._hold_until, self._forget_at)

    def _touch(self, now: Instant) -> None:
        self._forget_at = now + self._settings.head.forget_ns

    def _send_naks(self) -> None:
        first = self._first
        held = list(self._held.items())
        self._held.clear()
        if first is None:
            # The way back is not known: whoever still misses them says so in the next generation.
            return
        for generation, numbers in held:
            header = Header(
                ttl=first.up_ttl,
                choice=first.up_choice,
                links=first.up_links,
                item=self._item,
                segment=self.parent_segment,
                plan=self._plan,
                generation=generation,
            )
            for nak in naks(self._out.node, numbers):
                self._forward(Packet(header=header, body=nak, origin=self._out.next_origin()))
