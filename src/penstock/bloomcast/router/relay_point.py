"""A relay point of one transfer: it forwards what comes from its parent into segments of its own.

Upwards it sends one report for all its ends: of each block, the most that any of them needs.
Downwards, repair symbols go to those ends alone that still need them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead, round_of, with_way_back
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MICROSECOND, Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, SegmentFilter
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop
from penstock.wire.quantise import hold_100us

_STAMP_MASK: Final = 0xFFFF_FFFF
# Blocks of a generation whose repair symbols are counted.
_COUNTED_BLOCKS_MAX: Final = 4_096


class RelayPoint:
    """Of one transfer."""

    def __init__(
        self, out: Outbox, item: Item, *, settings: CastSettings, forward: Forward
    ) -> None:
        self._out: Final = out
        self._item: Final = item
        self._settings: Final = settings
        self._forward: Final = forward
        self._pages: Final = PlanPages()
        self.head: Final = SegmentHead(out, item, settings=settings, forward=forward)
        self.parent_segment = -1
        self._first: First | None = None
        # The frame that opened the round, and when it came.
        self._opening: Header | None = None
        self._opened_at: Instant = 0
        # When to report, whoever is missing; None: it has been done.
        self._report_at: Instant | None = None
        # By generation and block, how many repair symbols have come.
        self._received: Final[BoundedDict[tuple[int, int], int]] = BoundedDict(_COUNTED_BLOCKS_MAX)
        self._forget_at: Instant | None = None
        self.is_stopped = False

    # From the controller.

    def configure(self, config: RelayConfig, now: Instant) -> None:
        """Takes a page of its configuration."""
        plan = self._pages.add(config)
        if plan is None:
            return
        self.parent_segment = config.parent_segment
        came = self.head.apply(plan)
        self._touch(now)
        if self._first is not None and came and self._opening is not None:
            self._send_first(self._opening, came)

    # From the parent.

    def on_packet(self, packet: Packet, now: Instant) -> None:
        """A packet of the parent's segment."""
        if packet.header.segment != self.parent_segment:
            return
        self._touch(now)
        body = packet.body
        if isinstance(body, Symbols):
            self._on_symbols(packet.header, body)
        elif isinstance(body, First):
            self._on_first(packet.header, body, now)
        elif isinstance(body, End):
            self._on_end(packet.header, body, now)
        elif isinstance(body, Stop):
            self.is_stopped = True
            self.head.send_all(packet.header, lambda _segment: body)

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        if not header.flags & Flag.REPAIR:
            self.head.send_all(header, lambda _segment: body, has_origin=False)
            return
        key = (header.generation, header.block)
        start = self._received.get(key, 0)
        stop = start + len(body.numbers)
        self._received[key] = stop
        for piece in self.head.split(header.generation, header.block, start, stop):
            numbers = body.numbers[piece.start - start : piece.stop - start]
            onward = msgspec.structs.replace(header, symbol=numbers[0])
            self.head.send_to(
                piece.ends,
                onward,
                lambda _segment, numbers=numbers: Symbols(numbers=numbers),  # type: ignore[misc]
                has_origin=False,
            )

    def _on_first(self, header: Header, body: First, now: Instant) -> None:
        self._first = body
        self._open(0, header, now)
        self._send_first(header, None)

    def _send_first(self, header: Header, ends: list[int] | None) -> None:
        first = self._first
        assert first is not None
        hold = self.head.hold_ns()

        def make(segment: SegmentFilter) -> First:
            return with_way_back(first, segment, hold)

        if ends is None:
            self.head.send_all(header, make)
        else:
            self.head.send_to(ends, header, make)

    def _on_end(self, header: Header, body: End, now: Instant) -> None:
        if self._open(header.generation + 1, header, now):
            silent = self.head.note_silence(header.generation, now)
            if silent and self._first is not None:
                self._send_first(header, silent)
        onward = msgspec.structs.replace(body, hold_100us=hold_100us(self.head.hold_ns()))
        self.head.send_all(header, lambda _segment: onward)

    def _open(self, round_: int, header: Header, now: Instant) -> bool:
        """The first copy of FIRST or END opens a round."""
        if not self.head.open_round(round_, header.stamp_us, now):
            return False
        self._opening, self._opened_at = header, now
        self._report_at = now + self.head.hold_ns()
        return True

    # From its ends.

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """Notes it; reports when it was the last, or late and more than was known."""
        self._touch(now)
        if not self.head.on_report(header, report, now):
            return
        round_ = round_of(header)
        if round_ != self.head.rounds.latest or self._opening is None:
            return
        if self.head.is_complete(round_) or self._report_at is None:
            self._report(now)

    def on_first_request(self, request: FirstRequest) -> None:
        """An end has missed FIRST."""
        if self._first is not None and self._opening is not None:
            self._send_first(self._opening, [request.child])

    # Time.

    def wake(self, now: Instant) -> None:
        """Reports what is known when the time is up."""
        if self._report_at is not None and self._report_at <= now:
            self._report(now)
        if self._forget_at is not None and self._forget_at <= now:
            self.is_stopped = True

    def next_wakeup(self) -> Instant | None:
        """When it reports at the latest, or gives up the transfer."""
        return earliest(self._report_at, self._forget_at)

    def _touch(self, now: Instant) -> None:
        self._forget_at = now + self._settings.head.forget_ns

    def _report(self, now: Instant) -> None:
        first, opening, head = self._first, self._opening, self.head
        self._report_at = None
        if first is None or opening is None:
            # Without FIRST the way back is not known.
            return
        round_ = head.rounds.latest
        done, total = head.ends.counts()
        flags = Flag(0)
        if round_ == 0:
            flags |= Flag.OPENING
        if head.rounds.needs_everything(round_):
            flags |= Flag.ALL
        header = Header(
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            item=self._item,
            flags=flags,
            segment=opening.segment,
            plan=opening.plan,
            generation=opening.generation,
            stamp_us=opening.stamp_us + (now - self._opened_at) // MICROSECOND & _STAMP_MASK,
        )
        for report in report_parts(
            head.rounds.most_needed(round_),
            child=self._out.node,
            hold_100us=hold_100us(head.hold_ns()),
            loss=head.worst_loss(),
            done=done,
            total=total,
            failed=tuple(head.ends.all_failed()),
        ):
            self._forward(Packet(header=header, body=report, origin=self._out.next_origin()))
