"""A question that a relay point passes on, and the one report that it makes of all answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.missing import Missing, exact_max
from penstock.bloomcast.segment.question import Question
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import held
from penstock.kernel.instant import Duration, Instant, earliest
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.transfer import End, First
from penstock.wire.quantise import hold_100us


@dataclass(slots=True)
class WayUp:
    """From a relay point to its parent."""

    out: Outbox
    item: Item
    forward: Forward
    parent_segment: int = -1
    # The latest FIRST.
    first: First | None = None


class RelayQuestion:
    """One of them: that of FIRST, which END asks again, or one about a block of a stream."""

    def __init__(
        self,
        head: SegmentHead,
        question: Question,
        way: WayUp,
        *,
        # Says FIRST to some ends, with the header of what opened the question.
        say_first: Callable[[Header, list[int]], None],
        settings: CastSettings,
    ) -> None:
        self._head: Final = head
        self._question: Final = question
        self._way: Final = way
        self._say_first: Final = say_first
        self._settings: Final = settings.head
        # The frame that opened the round, and when it came.
        self.opening: Header | None = None
        self._opened_at: Instant = 0
        # The END among them; None when what it asked for comes.
        self._end: End | None = None
        # When to report, whoever is missing; None: it has been done.
        self._report_at: Instant | None = None
        self._reported_at: Instant = 0
        # When those who have not answered are asked again, and how long after the last time.
        self._remind_at: Instant | None = None
        self._remind_ns: Duration = 0

    def begin_epoch(self) -> None:
        """The publisher has begun again."""
        self.opening = self._end = None
        self.rest()

    def rest(self) -> None:
        """Nothing more is to be said."""
        self._report_at = self._remind_at = None

    # From the parent.

    def open(self, round_: int, header: Header, now: Instant) -> bool:
        """The first copy of FIRST or END opens a round."""
        if not self._question.open_round(round_, header.stamp_us, now):
            return False
        self.opening, self._opened_at = header, now
        hold_ns = self._head.hold_ns()
        self._report_at = now + (0 if self._question.is_complete(round_) else hold_ns)
        self._remind_ns = max(hold_ns, self._settings.remind_ns)
        self._remind_at = now + self._remind_ns
        return True

    def on_end(self, header: Header, body: End, now: Instant) -> None:
        """END: passes it on to those who have not said that they are done."""
        is_poll = bool(header.flags & Flag.POLL)
        header = msgspec.structs.replace(header, flags=header.flags & ~Flag.POLL)
        is_new = self.open(header.generation + 1, header, now)
        if is_new:
            silent = self._question.note_silence(header.generation, now)
            if silent and self._way.first is not None:
                self._say_first(header, silent)
        if header.generation + 1 == self._question.rounds.latest:
            self._end = body
            if is_poll:
                # Whoever has not answered here yet says so later.
                self._report(now)
        self._say_end(header, body, self._question.asked())
        if is_new:
            self._poll(header, body)

    def served(self) -> None:
        """Symbols of it come."""
        self._end = None

    def came(self, ends: list[int], now: Instant) -> None:
        """These ends are new."""
        if self._end is not None and self.opening is not None:
            self._say_end(self.opening_again(self.opening, now), self._end, ends)

    def _poll(self, header: Header, body: End) -> list[int]:
        """The last chance of those who are about to be given up; returns who they are."""
        ends = self._question.nearly_lost()
        if ends:
            polling = msgspec.structs.replace(header, flags=header.flags | Flag.POLL)
            self._say_end(polling, body, ends)
        return ends

    def _say_end(self, header: Header, body: End, ends: list[int] | None) -> None:
        onward = msgspec.structs.replace(body, hold_100us=hold_100us(self._head.hold_ns()))
        if ends is None:
            self._head.send_all(header, lambda _segment: onward)
        else:
            self._head.send_to(ends, header, lambda _segment: onward)

    # From the ends.

    def on_report(self, round_: int, now: Instant) -> None:
        """One has said something new: reports if it was the last, or late."""
        if round_ != self._question.rounds.latest or self.opening is None:
            return
        if self._report_at is None:
            # Late: what comes within a round trip goes up together.
            self._report_at = max(now, self._reported_at + self._head.ends.round_trip_ns())
        if self._report_at <= now or self._question.is_complete(round_):
            self._report(now)

    # Time.

    def wake(self, now: Instant) -> None:
        """Reports what is known when the time is up."""
        if self._report_at is not None and self._report_at <= now:
            self._report(now)
        if self._remind_at is not None and self._remind_at <= now:
            self._remind(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(self._report_at, self._remind_at)

    def opening_again(self, opening: Header, now: Instant) -> Header:
        """Of a copy that this relay point makes: round trips begin with it."""
        return msgspec.structs.replace(opening, stamp_us=self._stamp_us(opening, now))

    def _stamp_us(self, opening: Header, now: Instant) -> int:
        """The publisher's clock, as of the frame that opened the round."""
        return held(opening.stamp_us, now - self._opened_at)

    def _remind(self, now: Instant) -> None:
        """Without FIRST all of generation 0 is lost on an end, and no report finds its way."""
        self._remind_at = None
        round_ = self._question.rounds.latest
        if self.opening is None or self._way.first is None or (round_ and self._end is None):
            return
        silent = self._question.unanswered(round_)
        if silent:
            header = self.opening_again(self.opening, now)
            self._say_first(header, silent)
            if self._end is not None:
                polled = self._poll(header, self._end)
                others = [node for node in silent if node not in polled]
                self._say_end(header, self._end, others)
            self._remind_ns = min(2 * self._remind_ns, self._settings.remind_max_ns)
            self._remind_at = now + self._remind_ns

    def _report(self, now: Instant) -> None:
        way, opening, question = self._way, self.opening, self._question
        first, head = way.first, self._head
        self._report_at, self._reported_at = None, now
        if first is None or opening is None:
            # Without FIRST the way back is not known.
            return
        round_ = question.rounds.latest
        done, total = question.counts()
        flags = Flag(0)
        if round_ == 0:
            flags |= Flag.OPENING
        if question.rounds.needs_everything(round_) or not (round_ or question.is_complete(round_)):
            # Whoever has not answered FIRST may need all of it.
            flags |= Flag.ALL
        header = Header(
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            item=way.item,
            flags=flags,
            segment=way.parent_segment,
            plan=opening.plan,
            generation=opening.generation,
            block=opening.block,
            symbol=min((end.lacks_from for end in head.ends.counted()), default=0),
            stamp_us=self._stamp_us(opening, now),
        )
        for report, part_flags in report_parts(
            self._missing(round_, first),
            child=way.out.node,
            hold_100us=hold_100us(head.hold_ns()),
            loss=question.worst_loss(),
            done=done,
            total=total,
            failed=tuple(head.ends.all_failed()),
        ):
            own = msgspec.structs.replace(header, flags=flags | part_flags)
            way.forward(Packet(header=own, body=report, origin=way.out.next_origin()))

    def _missing(self, round_: int, first: First) -> Missing:
        """Of all ends; before generation 0 nothing is listed, as whole blocks are sent."""
        rounds, symbols_of = self._question.rounds, self._head.symbols_of
        if symbols_of is None or not round_:
            return Missing(rounds.most_needed(round_))
        return rounds.missing(round_, lambda block: exact_max(symbols_of(block), first.repair))
