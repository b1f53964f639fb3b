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
from penstock.bloomcast.segment.repair_targets import RepairTargets
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import since_ns
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import First
from penstock.wire.quantise import delta_ns, hold_100us

# Blocks with open needs that are kept for a round; the others wait for the next END.
BLOCKS_MAX: Final = 1_024
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
        self.rounds: Final = RoundTable(blocks_max=BLOCKS_MAX)
        self.targets: Final = RepairTargets(self.rounds, self.ends, settings.publisher)
        # When a round was opened, and the stamp of the frame that did it.
        self._opened_at: Instant = 0
        self._opened_stamp_us = 0
        # By round, for two: who has all, has said so, and need not say it again.
        self._excused: Final[dict[int, dict[int, None]]] = {}

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

    def _forget(self, node: int) -> None:
        self.rounds.forget(node)
        for excused in self._excused.values():
            excused.pop(node, None)

    def _ask_anew(self, node: int) -> None:
        """Who had all may have restarted, with nothing."""
        end = self.ends.get(node)
        if end is not None and end.is_satisfied:
            end.done = 0
            self._forget(node)

    def _replace_ends(self) -> None:
        wanted = {
            node: (number, path)
            for number, segment in self._plan.segments.items()
            for node, path in segment.paths.items()
        }
        if self._has_local_end:
            wanted[self._out.node] = (_NO_SEGMENT, NO_LINKS)
        _came, went = self.ends.replace(wanted)
        for node in went:
            self._forget(node)
        self.targets.clear()

    def set_local_end(self, is_there: bool) -> None:
        """A subscriber at this node has come, or gone."""
        if is_there != self._has_local_end:
            self._has_local_end = is_there
            self._replace_ends()

    def begin_epoch(self) -> None:
        """Rounds are counted from 0 again."""
        self.rounds.clear()
        self._excused.clear()
        self.ends.forget_rounds()
        self.targets.clear()

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

    # Rounds.

    def open_round(self, round_: int, stamp_us: int, now: Instant) -> bool:
        """FIRST or END goes out, for the first time in this round: from now on reports come."""
        if not self.rounds.begin(round_):
            return False
        self._opened_at, self._opened_stamp_us = now, stamp_us
        self.targets.clear()
        for old in [old for old in self._excused if old < round_ - 1]:
            del self._excused[old]
        self._excused[round_] = self._find_excused()
        return True

    def _find_excused(self) -> dict[int, None]:
        """Nobody while somebody is given up: END then goes to all, and may bring them back."""
        if self.ends.failed:
            return {}
        return {end.node: None for end in self.ends if end.is_satisfied}

    def on_report(self, header: Header, report: Report, now: Instant) -> bool:
        """Notes what an end needs; True if it changes anything."""
        end = self.ends.ever(report.child)
        if end is None or end.segment not in (_NO_SEGMENT, header.segment):
            return False
        if not self._is_possible(report):
            return False
        self.ends.take_back(report.child)
        round_ = round_of(header)
        is_new = self.rounds.add(
            round_,
            report.child,
            report,
            all_blocks=bool(header.flags & Flag.ALL),
            is_exact=bool(header.flags & Flag.EXACT),
        )
        if not is_new and (report.done, report.total) == (end.done, end.total):
            return False
        if round_ == self.rounds.latest:
            self._measure(report.child, header, now)
        end.note(report, round_, delta_ns(report.hold_100us))
        self.targets.clear()
        return True

    def _is_possible(self, report: Report) -> bool:
        """Whether nobody is said to need more symbols than a block has, or others."""
        symbols_of = self.symbols_of
        if symbols_of is None:
            return not report.needs and not report.ranges
        return all(need <= symbols_of(block) for block, need in report.needs) and all(
            ranges[-1].stop <= symbols_of(block) for block, ranges in report.ranges
        )

    def unanswered(self, round_: int) -> list[int]:
        """Ends that have not reported."""
        excused = self._excused.get(round_, ())
        return [
            end.node
            for end in self.ends
            if end.node not in excused and not self.rounds.has_reported(round_, end.node)
        ]

    def _measure(self, child: int, header: Header, now: Instant) -> None:
        """The stamp is that of the frame answered, plus what the end waited."""
        end = self.ends.get(child)
        assert end is not None
        held_ns = since_ns(header.stamp_us, self._opened_stamp_us)
        if held_ns >= 0:
            end.measure(now - self._opened_at - held_ns)

    def is_complete(self, round_: int) -> bool:
        """Whether every end has reported, or has all."""
        excused = self._excused.get(round_, ())
        return all(
            end.node in excused or self.rounds.has_reported(round_, end.node) for end in self.ends
        )

    def asked(self) -> list[int] | None:
        """Whom END of the latest round is for; None for all, those who were given up included."""
        excused = self._excused.get(self.rounds.latest)
        if not excused:
            return None
        return [end.node for end in self.ends if end.node not in excused]

    def note_silence(self, round_: int, now: Instant) -> list[int]:
        """Counts the ENDs that ends let pass; returns the silent, without those it gives up."""
        silent = []
        excused = self._excused.get(round_, ())
        for end in list(self.ends):
            if end.node in excused or self.rounds.has_reported(round_, end.node):
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

    def nearly_lost(self, round_: int) -> list[int]:
        """Whom to ask once more, before they are given up."""
        return [node for node in self.unanswered(round_) if self.ends.is_nearly_lost(node)]

    def worst_loss(self) -> int:
        """The highest loss of an end that is not done."""
        return max((end.loss for end in self.ends if end.done < end.total), default=0)

    # Generation 0.

    def source_ends(self, block: int) -> tuple[int, ...] | None:
        """Who is sent a block at first: all (None), but for those who said that they have it."""
        having = self.rounds.not_needing(0, block)
        if not having:
            return None
        return tuple([end.node for end in self.ends if end.node not in having])


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
