"""The head of segments: sends to all ends or to some, and gathers what they need.

The publisher is one, and so is each relay point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.segment.head_plan import HeadPlan
from penstock.bloomcast.segment.repair_count import with_margin
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import First
from penstock.wire.quantise import delta_ns, hold_100us

_STAMP_MASK: Final = 0xFFFF_FFFF
_HALF: Final = 0x8000_0000
# Blocks with open needs that are kept for a round; the others wait for the next END.
BLOCKS_MAX: Final = 1_024
Forward: TypeAlias = Callable[[Packet], None]


class Piece(NamedTuple):
    """Symbols of a train, by place, that the same ends still need."""

    start: int
    stop: int
    ends: tuple[int, ...]


class SegmentHead:
    """All segments that one node sends a transfer into."""

    def __init__(
        self, out: Outbox, item: Item, *, settings: CastSettings, forward: Forward
    ) -> None:
        self._out: Final = out
        self._item: Final = item
        self._settings: Final = settings
        self._forward: Final = forward
        self._plan = HeadPlan(-1, 1, {})
        self.ends: Final = EndTable(settings.head)
        self.rounds: Final = RoundTable(blocks_max=BLOCKS_MAX)
        # When a round was opened, and the stamp of the frame that did it.
        self._opened_at: Instant = 0
        self._opened_stamp_us = 0
        # By round and block: ends by how many symbols they still take, ascending.
        self._targets: Final[dict[tuple[int, int], list[tuple[int, int]]]] = {}

    def apply(self, plan: HeadPlan) -> list[int]:
        """Takes another plan; returns the ends that are new."""
        self._plan = plan
        wanted = {
            node: (number, path)
            for number, segment in plan.segments.items()
            for node, path in segment.paths.items()
        }
        came, went = self.ends.replace(wanted)
        for node in went:
            self.rounds.forget(node)
        self._targets.clear()
        return came

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

    def patience_ns(self) -> Duration:
        """How long the publisher waits: with nobody above, it gives silent ends more time."""
        return self.ends.patience_ns(self._plan.levels)

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
            if end is not None:
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

    # Rounds.

    def open_round(self, round_: int, stamp_us: int, now: Instant) -> bool:
        """FIRST or END goes out, for the first time in this round: from now on reports come."""
        if not self.rounds.begin(round_):
            return False
        self._opened_at, self._opened_stamp_us = now, stamp_us
        self._targets.clear()
        return True

    def on_report(self, header: Header, report: Report, now: Instant) -> bool:
        """Notes what an end needs; True if it changes anything."""
        end = self.ends.get(report.child)
        if end is None or header.segment != end.segment:
            return False
        round_ = round_of(header)
        is_new = self.rounds.add(
            round_, report.child, report, all_blocks=bool(header.flags & Flag.ALL)
        )
        if not is_new and (report.done, report.total) == (end.done, end.total):
            return False
        if round_ == self.rounds.latest:
            self._measure(report.child, header, now)
        end.note(report, delta_ns(report.hold_100us))
        self._targets.clear()
        return True

    def _measure(self, child: int, header: Header, now: Instant) -> None:
        """The stamp is that of the frame answered, plus what the end waited."""
        end = self.ends.get(child)
        assert end is not None
        after_us = header.stamp_us - self._opened_stamp_us & _STAMP_MASK
        if after_us < _HALF:
            end.measure(now - self._opened_at - after_us * MICROSECOND)

    def is_complete(self, round_: int) -> bool:
        """Whether every end has reported."""
        return all(self.rounds.has_reported(round_, end.node) for end in self.ends)

    def note_silence(self, round_: int, now: Instant) -> list[int]:
        """Counts the ENDs that ends let pass; returns the silent, without those it gives up."""
        silent = []
        for end in list(self.ends):
            if self.rounds.has_reported(round_, end.node):
                continue
            end.silent_ends += 1
            if end.silent_since is None:
                end.silent_since = now
            if self.ends.is_lost(end, now):
                self.ends.give_up(end.node)
                self.rounds.forget(end.node)
            else:
                silent.append(end.node)
        return silent

    def worst_loss(self) -> int:
        """The highest loss of an end that is not done."""
        return max((end.loss for end in self.ends if end.done < end.total), default=0)

    # Repairs.

    def target(self, round_: int, block: int) -> int:
        """How many repair symbols of a block to send, so that all ends get enough."""
        targets = self._targets_of(round_, block)
        return targets[-1][0] if targets else 0

    def split(self, round_: int, block: int, start: int, stop: int) -> list[Piece]:
        """Cuts repair symbols, counted from the first of the round, where fewer ends need them."""
        pieces = []
        targets = self._targets_of(round_, block)
        at = start
        for place, (target, _end) in enumerate(targets):
            if target > at:
                upto = min(target, stop)
                pieces.append(Piece(at, upto, tuple([end for _target, end in targets[place:]])))
                at = upto
                if at == stop:
                    break
        return pieces

    def _targets_of(self, round_: int, block: int) -> list[tuple[int, int]]:
        found = self._targets.get((round_, block))
        if found is None:
            settings = self._settings.publisher
            found = self._targets[round_, block] = []
            for node, need in self.rounds.needs_of(round_, block).items():
                end = self.ends.get(node)
                if end is not None:
                    target = with_margin(
                        need,
                        end.loss,
                        margin=settings.repair_margin,
                        threshold=settings.repair_threshold,
                    )
                    found.append((target, node))
            found.sort()
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


def round_of(header: Header) -> int:
    """The round that a report is for."""
    return 0 if header.flags & Flag.OPENING else header.generation + 1
