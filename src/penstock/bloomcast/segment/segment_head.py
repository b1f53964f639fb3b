"""The head of segments: sends to all ends or to some, and gathers what they need.

The publisher is one, and so is each relay point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from penstock.bloomcast.filters.packet_filter import NO_LINKS
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.segment.head_plan import HeadPlan
from penstock.bloomcast.segment.questions import Questions
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import First
from penstock.wire.quantise import hold_100us

# Of an end at the head's own node: no link leads to it.
_NO_SEGMENT: Final = -1
Forward: TypeAlias = Callable[[Packet], None]


class SegmentHead:
    """All segments that one node sends a transfer into."""

    def __init__(
        self, out: Outbox, item: Item, *, settings: CastSettings, forward: Forward
    ) -> None:
        self._out: Final = out
        self._item: Final = item
        self._forward: Final = forward
        self._plan = HeadPlan(-1, 1, {})
        # Source symbols of a block; nobody can need more of it. None: not known yet.
        self.symbols_of: Callable[[int], int] | None = None
        # Whether a subscriber at this node is one of the ends.
        self._has_local_end = False
        self.ends: Final = EndTable(settings.head)
        self.questions: Final = Questions(self.ends, settings)
        # Of a stream, the first block of which nothing has been sent: newcomers begin with it.
        self.next_block = 0

    def apply(self, plan: HeadPlan) -> list[int]:
        """Takes another plan; returns the ends that are new, or whose way back is."""
        old, self._plan = self._plan, plan
        self._replace_ends()
        came = [
            node
            for number, segment in plan.segments.items()
            for node in segment.paths
            if number not in old.segments
            or node not in old.segments[number].paths
            or segment.filter != old.segments[number].filter
        ]
        for node in came:
            self._ask_anew(node)
        return came

    def _ask_anew(self, node: int) -> None:
        """Who had all may have restarted, with nothing."""
        end = self.ends.get(node)
        if end is not None:
            if end.hold_ns is not None:
                end.begins, end.lacks_from = self.next_block, 0
            for question in self.questions:
                question.ask_anew(end)

    def _replace_ends(self) -> None:
        wanted = {
            node: (number, path)
            for number, segment in self._plan.segments.items()
            for node, path in segment.paths.items()
        }
        if self._has_local_end:
            wanted[self._out.node] = (_NO_SEGMENT, NO_LINKS)
        came, went, moved = self.ends.replace(wanted, begins=self.next_block)
        for question in self.questions:
            for node in (*went, *came):
                question.forget(node)
            for node in moved:
                question.reached_again(node)
            question.targets.clear()

    def set_local_end(self, is_there: bool) -> None:
        """A subscriber at this node has come, or gone."""
        if is_there != self._has_local_end:
            self._has_local_end = is_there
            self._replace_ends()

    def begin_epoch(self) -> None:
        """Rounds are counted from 0 again."""
        self.questions.begin_epoch()
        self.ends.begin_epoch()
        self.next_block = 0

    @property
    def left_out(self) -> tuple[int, ...]:
        """Who wants the object and is not reached."""
        return self._plan.left_out

    def has_segment(self, number: int) -> bool:
        """Whether a segment is of this head."""
        return number in self._plan.segments

    @property
    def is_configured(self) -> bool:
        """Whether there is anyone to send to."""
        return not self._plan.is_empty()

    def hold_ns(self) -> Duration:
        """How long this head waits for reports."""
        return self.ends.hold_ns(self._plan.levels)

    # Sending.

    def send_all(
        self, header: Header, make: Callable[[SegmentFilter], CastBody], *, has_origin: bool = True
    ) -> None:
        """To every end; the body may differ by segment."""
        for segment in self._plan.segments.values():
            self._send(header, segment.filter, segment.filter.links, make, has_origin)

    def send_to(
        self,
        ends: Iterable[int],
        header: Header,
        make: Callable[[SegmentFilter], CastBody],
        *,
        has_origin: bool = True,
    ) -> None:
        """To these ends: the filter has the links that lead to them, and no others."""
        links: dict[int, int] = {}
        for node in ends:
            end = self.ends.get(node)
            if end is not None and end.segment != _NO_SEGMENT:
                links[end.segment] = links.get(end.segment, 0) | end.path
        for number, union in links.items():
            self._send(header, self._plan.segments[number].filter, union, make, has_origin)

    def _send(
        self,
        header: Header,
        segment: SegmentFilter,
        links: int,
        make: Callable[[SegmentFilter], CastBody],
        has_origin: bool,
    ) -> None:
        origin: Origin | None = self._out.next_origin() if has_origin else None
        onward = Header(
            ttl=segment.depth,
            choice=segment.choice,
            links=links,
            item=self._item,
            flags=header.flags,
            segment=segment.segment,
            plan=segment.plan,
            generation=header.generation,
            block=header.block,
            symbol=header.symbol,
            stamp_us=header.stamp_us,
        )
        self._forward(Packet(header=onward, body=make(segment), origin=origin))

    # Reports.

    def on_report(self, header: Header, report: Report, now: Instant) -> bool:
        """Notes what an end needs; True if it changes anything."""
        end = self.ends.ever(report.child)
        if end is None or end.segment not in (_NO_SEGMENT, header.segment):
            return False
        question = self.questions.get(self.questions.key_of(header))
        if question is None or not self._is_possible(header, report):
            return False
        if end.is_stuck and not question.shows_progress(header, report):
            return False
        self.ends.take_back(report.child)
        is_new = question.on_report(header, report, now)
        if self.questions.is_stream and header.symbol > end.lacks_from:
            end.lacks_from = header.symbol
            self.questions.settle(end)
            is_new = True
        return is_new

    def _is_possible(self, header: Header, report: Report) -> bool:
        """Whether nobody is said to need more symbols than a block has, or others."""
        symbols_of = self.symbols_of
        if symbols_of is None:
            return not report.needs and not report.ranges
        named = [each.block for each in report.needs] + [each.block for each in report.ranges]
        if self.questions.is_stream:
            # Each block has a question of its own, and FIRST is about none.
            asked = [] if header.flags & Flag.OPENING else [header.block]
            if any(block not in asked for block in named):
                return False
        return all(need <= symbols_of(block) for block, need in report.needs) and all(
            ranges[-1].stop <= symbols_of(block) for block, ranges in report.ranges
        )

    # Generation 0.

    def source_ends(self, block: int) -> tuple[int, ...] | None:
        """Who is sent a block at first: all (None), but for those who said that they have it."""
        having = self.questions.opening.rounds.not_needing(0, block)
        if not having:
            return None
        return tuple([end.node for end in self.ends if end.node not in having])

    def begins_of(self, ends: list[int]) -> dict[int, list[int]]:
        """Ends by the block that they take part from."""
        found: dict[int, list[int]] = {}
        for node in ends:
            end = self.ends.get(node)
            if end is not None:
                found.setdefault(end.begins, []).append(node)
        return found


def with_way_back(first: First, segment: SegmentFilter, hold_ns: Duration) -> First:
    """FIRST, as the head of a segment says it."""
    return msgspec.structs.replace(
        first,
        up_choice=segment.up_choice,
        up_links=segment.up_links,
        up_ttl=segment.depth,
        hold_100us=hold_100us(hold_ns),
    )
