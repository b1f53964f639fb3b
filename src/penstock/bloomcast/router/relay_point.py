"""A relay point of one transfer: it forwards what comes from its parent into segments of its own.

Upwards it sends one report for all its ends: of each block, the most that any of them needs, or a
short list of all that they lack. Downwards, repairs go to those ends alone that still need them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.router.rate_merge import RateMerge
from penstock.bloomcast.router.repair_forwarding import RepairForwarding
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.missing import Missing, exact_max
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead, round_of, with_way_back
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import held
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.way_back import is_later
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Duration, Instant, earliest
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, SegmentFilter
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop
from penstock.wire.quantise import hold_100us

_PAST_EPOCHS_MAX: Final = 16


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
        self._repairs: Final = RepairForwarding(self.head)
        self._rates: Final = RateMerge(settings.rate, out.node)
        self.parent_segment = -1
        self._first: First | None = None
        # Of publishers that have begun again since.
        self._past_epochs: Final[BoundedDict[int, None]] = BoundedDict(_PAST_EPOCHS_MAX)
        # The frame that opened the round, and when it came.
        self._opening: Header | None = None
        # The first FIRST: what its sender has sent before belongs to another transfer.
        self._opened_by: Origin | None = None
        # The END among them.
        self._end: End | None = None
        self._opened_at: Instant = 0
        # When to report, whoever is missing; None: it has been done.
        self._report_at: Instant | None = None
        self._reported_at: Instant = 0
        # When those who have not answered are asked again, and how long after the last time.
        self._remind_at: Instant | None = None
        self._remind_ns: Duration = 0
        self._forget_at: Instant | None = None
        # STOP has come; its other copies may yet.
        self._is_over = False
        self._stopped = Stop()
        self.is_stopped = False

    # From the controller.

    def configure(self, config: RelayConfig, now: Instant) -> None:
        """Takes a page of its configuration."""
        plan = self._pages.add(config)
        if plan is None:
            return
        self.parent_segment = config.parent_segment
        came = self.head.apply(plan)
        self._forget_at = now + self._settings.head.forget_ns
        self.is_stopped = plan.is_empty()
        if came and not self._is_over and self._first is not None and self._opening is not None:
            header = self._opening_again(self._opening, now)
            self._send_first(header, came)
            if self._end is not None:
                self._send_end(header, self._end, came)

    def set_local_end(self, is_there: bool) -> None:
        """A subscriber at this node is one of the ends."""
        self.head.set_local_end(is_there)

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
            assert packet.origin is not None
            self._on_first(packet.header, body, packet.origin, now)
        elif isinstance(body, End):
            self._on_end(packet.header, body, now)
        elif isinstance(body, RateInForce):
            onward = self._rates.down(body, self.head.ends)
            self.head.send_all(packet.header, lambda _segment: onward)
        elif isinstance(body, Stop):
            opened_by, origin = self._opened_by, packet.origin
            if opened_by is None or origin is None or is_later(origin, opened_by):
                self._stop(packet.header, body, now)

    def _stop(self, header: Header, body: Stop, now: Instant) -> None:
        self.head.send_all(header, lambda _segment: body)
        if not self._is_over:
            self._is_over, self._stopped = True, body
            self._report_at = self._remind_at = None
            self._forget_at = now + self._settings.head.linger_ns

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        self._end = None
        if not header.flags & Flag.REPAIR:
            ends = self.head.source_ends(header.block)
            if ends is None:
                self.head.send_all(header, lambda _segment: body, has_origin=False)
            else:
                self.head.send_to(ends, header, lambda _segment: body, has_origin=False)
            return
        self._repairs.forward(header, body)

    def _on_first(self, header: Header, body: First, origin: Origin, now: Instant) -> None:
        if self._first is not None and body.epoch != self._first.epoch:
            if body.epoch in self._past_epochs:
                return
            self._past_epochs[self._first.epoch] = None
            self._begin_epoch(now)
        try:
            self.head.symbols_of = ObjectShape.of(body).symbols_of
        except PeerError:
            # Nobody can send such an object: the frame is counted as lost.
            return
        if self._opened_by is None or self._opened_by.node != origin.node:
            self._opened_by = origin
        self._first = body
        if header.generation == 0:
            self._open(0, header, now)
        self._send_first(header, None)

    def _begin_epoch(self, now: Instant) -> None:
        """The publisher has begun again."""
        self.head.begin_epoch()
        self._repairs.clear()
        self._opening = self._end = self._opened_by = self._report_at = self._remind_at = None
        self._is_over = False
        self._touch(now)

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
        is_poll = bool(header.flags & Flag.POLL)
        header = msgspec.structs.replace(header, flags=header.flags & ~Flag.POLL)
        is_new = self._open(header.generation + 1, header, now)
        if is_new:
            silent = self.head.note_silence(header.generation, now)
            if silent and self._first is not None:
                self._send_first(header, silent)
        if header.generation + 1 == self.head.rounds.latest:
            self._end = body
            if is_poll:
                # Whoever has not answered here yet says so later.
                self._report(now)
        self._send_end(header, body, self.head.asked())
        if is_new:
            self._poll(header, body)

    def _poll(self, header: Header, body: End) -> list[int]:
        """The last chance of those who are about to be given up; returns who they are."""
        ends = self.head.nearly_lost(self.head.rounds.latest)
        if ends:
            polling = msgspec.structs.replace(header, flags=header.flags | Flag.POLL)
            self._send_end(polling, body, ends)
        return ends

    def _send_end(self, header: Header, body: End, ends: list[int] | None) -> None:
        onward = msgspec.structs.replace(body, hold_100us=hold_100us(self.head.hold_ns()))
        if ends is None:
            self.head.send_all(header, lambda _segment: onward)
        else:
            self.head.send_to(ends, header, lambda _segment: onward)

    def _open(self, round_: int, header: Header, now: Instant) -> bool:
        """The first copy of FIRST or END opens a round."""
        if not self.head.open_round(round_, header.stamp_us, now):
            return False
        self._opening, self._opened_at = header, now
        hold_ns = self.head.hold_ns()
        self._report_at = now + (0 if self.head.is_complete(round_) else hold_ns)
        self._remind_ns = max(hold_ns, self._settings.head.remind_ns)
        self._remind_at = now + self._remind_ns
        return True

    # From its ends.

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """Notes it; reports when it was the last, or late and more than was known."""
        if self._is_over:
            # It has missed STOP.
            self.head.send_to([report.child], header, lambda _segment: self._stopped)
            return
        self._touch(now)
        if not self.head.on_report(header, report, now):
            return
        round_ = round_of(header)
        if round_ != self.head.rounds.latest or self._opening is None:
            return
        if self._report_at is None:
            # Late: what comes within a round trip goes up together.
            self._report_at = max(now, self._reported_at + self.head.ends.round_trip_ns())
        if self._report_at <= now or self.head.is_complete(round_):
            self._report(now)

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """An end has missed FIRST."""
        if self._first is not None and self._opening is not None:
            self._send_first(self._opening_again(self._opening, now), [request.child])

    def on_rate(self, header: Header, body: AllowedRate, now: Instant) -> None:
        """Passes on what an end allows, if it is the least."""
        first, opening = self._first, self._opening
        if first is None or opening is None or not self._rates.passes(body, now):
            return
        onward = msgspec.structs.replace(
            header,
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            segment=opening.segment,
            plan=opening.plan,
        )
        self._forward(Packet(header=onward, body=body, origin=self._out.next_origin()))

    # Time.

    def wake(self, now: Instant) -> None:
        """Reports what is known when the time is up."""
        if self._report_at is not None and self._report_at <= now:
            self._report(now)
        if self._remind_at is not None and self._remind_at <= now:
            self._remind(now)
        if self._forget_at is not None and self._forget_at <= now:
            self.is_stopped = True

    def next_wakeup(self) -> Instant | None:
        """When it reports at the latest, or gives up the transfer."""
        return earliest(self._report_at, self._remind_at, self._forget_at)

    def _stamp_us(self, opening: Header, now: Instant) -> int:
        """The publisher's clock, as of the frame that opened the round."""
        return held(opening.stamp_us, now - self._opened_at)

    def _opening_again(self, opening: Header, now: Instant) -> Header:
        """Of a copy that this relay point makes: round trips begin with it."""
        return msgspec.structs.replace(opening, stamp_us=self._stamp_us(opening, now))

    def _touch(self, now: Instant) -> None:
        if not self._is_over:
            self._forget_at = now + self._settings.head.forget_ns

    def _remind(self, now: Instant) -> None:
        """Without FIRST all of generation 0 is lost on an end, and no report finds its way."""
        self._remind_at = None
        round_ = self.head.rounds.latest
        if self._opening is None or self._first is None or (round_ and self._end is None):
            return
        silent = self.head.unanswered(round_)
        if silent:
            header = self._opening_again(self._opening, now)
            self._send_first(header, silent)
            if self._end is not None:
                polled = self._poll(header, self._end)
                others = [node for node in silent if node not in polled]
                self._send_end(header, self._end, others)
            self._remind_ns = min(2 * self._remind_ns, self._settings.head.remind_max_ns)
            self._remind_at = now + self._remind_ns

    def _report(self, now: Instant) -> None:
        first, opening, head = self._first, self._opening, self.head
        self._report_at, self._reported_at = None, now
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
            segment=self.parent_segment,
            plan=opening.plan,
            generation=opening.generation,
            stamp_us=self._stamp_us(opening, now),
        )
        for report, part_flags in report_parts(
            self._missing(round_),
            child=self._out.node,
            hold_100us=hold_100us(head.hold_ns()),
            loss=head.worst_loss(),
            done=done,
            total=total,
            failed=tuple(head.ends.all_failed()),
        ):
            own = msgspec.structs.replace(header, flags=flags | part_flags)
            self._forward(Packet(header=own, body=report, origin=self._out.next_origin()))

    def _missing(self, round_: int) -> Missing:
        """Of all ends; before generation 0 nothing is listed, as whole blocks are sent."""
        first, symbols_of = self._first, self.head.symbols_of
        assert first is not None
        if symbols_of is None or not round_:
            return Missing(self.head.rounds.most_needed(round_))
        return self.head.rounds.missing(
            round_, lambda block: exact_max(symbols_of(block), first.repair)
        )
