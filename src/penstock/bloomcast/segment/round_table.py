"""What the ends of a head need, round by round.

A *round* is a generation of symbols, as what is needed in it: round 0 opens with FIRST, and the END
of generation g opens round g + 1. There are two slots, tagged by round, because reports for the
next round arrive while the last is being served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.bloomcast.segment.missing import Listed, Missing, is_listable, size_of, union_of
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.report import BlockRanges, Report


class _Slot:
    """One round."""

    __slots__ = ("everything", "exact", "listed", "needs", "partial", "parts", "reported", "round")

    def __init__(self, round_: int) -> None:
        self.round: Final = round_
        # By block and end, what repair symbols can serve: how much, and what if all was listed.
        self.needs: Final[dict[int, dict[int, int]]] = {}
        self.listed: Final[dict[int, dict[int, IntervalSet]]] = {}
        # Source symbols that nothing can replace.
        self.exact: Final[dict[int, dict[int, IntervalSet]]] = {}
        # Ends that need every block.
        self.everything: Final[dict[int, None]] = {}
        # Which parts of an end's report have come.
        self.parts: Final[dict[int, int]] = {}
        self.reported: Final[dict[int, None]] = {}
        # Of these, who does not need everything.
        self.partial: Final[dict[int, None]] = {}

    def has_room_for(self, block: int, blocks_max: int) -> bool:
        """Whether a block is known, or may become so."""
        is_known = block in self.needs or block in self.exact
        return is_known or len(self.needs.keys() | self.exact.keys()) < blocks_max


class RoundTable:
    """The needs of two rounds."""

    def __init__(self, *, blocks_max: int) -> None:
        self._slots: Final[dict[int, _Slot]] = {}
        # Of one round; further blocks wait for the next.
        self._blocks_max: Final = blocks_max
        self.latest = -1

    def begin(self, round_: int) -> bool:
        """Opens a round, in the slot of the one before the last; False if it is open already."""
        if round_ <= self.latest:
            return False
        self.latest = round_
        self._slots[round_ & 1] = _Slot(round_)
        other = self._slots.get(~round_ & 1)
        if other is not None and other.round < round_ - 1:
            # It was skipped, as all frames that would have opened it were lost.
            del self._slots[~round_ & 1]
        return True

    def clear(self) -> None:
        """Another epoch: rounds are counted from 0 again."""
        self._slots.clear()
        self.latest = -1

    def _slot(self, round_: int) -> _Slot | None:
        slot = self._slots.get(round_ & 1)
        return slot if slot is not None and slot.round == round_ else None

    def add(
        self, round_: int, end: int, report: Report, *, all_blocks: bool, is_exact: bool = False
    ) -> bool:
        """Notes a part of a report; True if something in it is new."""
        slot = self._slot(round_)
        if slot is None:
            return False
        parts = slot.parts.get(end, 0)
        is_new = not parts >> report.part & 1
        slot.parts[end] = parts = parts | 1 << report.part
        if all_blocks and end not in slot.everything:
            slot.everything[end] = None
            slot.partial.pop(end, None)
            is_new = True
        for block, need in report.needs:
            if slot.has_room_for(block, self._blocks_max):
                is_new |= _count(slot, block, end, need)
        for entry in report.ranges:
            if slot.has_room_for(entry.block, self._blocks_max):
                is_new |= (_require if is_exact else _list)(slot, end, entry)
        # A repeated report may have fewer parts than the one before it.
        every = (1 << report.parts) - 1
        if parts & every == every:
            slot.reported[end] = None
            if end not in slot.everything:
                slot.partial[end] = None
        return is_new

    def forget(self, end: int) -> None:
        """An end has left: nobody waits for it."""
        for slot in self._slots.values():
            slot.everything.pop(end, None)
            slot.reported.pop(end, None)
            slot.partial.pop(end, None)
            slot.parts.pop(end, None)
            for needs in slot.needs.values():
                needs.pop(end, None)
            for ranges in (*slot.listed.values(), *slot.exact.values()):
                ranges.pop(end, None)

    def has_reported(self, round_: int, end: int) -> bool:
        """Whether all parts of an end's report have come."""
        slot = self._slot(round_)
        return slot is not None and end in slot.reported

    def needs_everything(self, round_: int) -> bool:
        """Whether an end needs every block."""
        slot = self._slot(round_)
        return slot is not None and bool(slot.everything)

    def not_needing(self, round_: int, block: int) -> list[int]:
        """Who has said that it does not need a block."""
        slot = self._slot(round_)
        if slot is None or not slot.partial:
            return []
        needing, exact = slot.needs.get(block, {}), slot.exact.get(block, {})
        return [end for end in slot.partial if end not in needing and end not in exact]

    def needs_of(self, round_: int, block: int) -> Mapping[int, int]:
        """How many symbols of a block each end needs, of those whom repair symbols serve."""
        slot = self._slot(round_)
        return {} if slot is None else slot.needs.get(block, {})

    def listed_of(self, round_: int, block: int) -> Mapping[int, IntervalSet]:
        """Of these, who has listed all that it needs, and what."""
        slot = self._slot(round_)
        return {} if slot is None else slot.listed.get(block, {})

    def exact_of(self, round_: int, block: int) -> Mapping[int, IntervalSet]:
        """The symbols of a block that nothing can replace, by end."""
        slot = self._slot(round_)
        return {} if slot is None else slot.exact.get(block, {})

    def blocks(self, round_: int) -> list[int]:
        """Those that somebody needs something of."""
        slot = self._slot(round_)
        if slot is None:
            return []
        every = slot.needs.keys() | slot.exact.keys()
        return sorted([block for block in every if slot.needs.get(block) or slot.exact.get(block)])

    def needs_by_end(self, round_: int) -> dict[int, dict[int, int]]:
        """How many symbols of each block the ends need that have reported; most need none."""
        slot, found = self._slot(round_), dict[int, dict[int, int]]()
        if slot is None:
            return found
        for block, needs in slot.needs.items():
            for end, need in needs.items():
                if end in slot.reported:
                    found.setdefault(end, {})[block] = need
        for block, exact in slot.exact.items():
            for end, ranges in exact.items():
                if end in slot.reported:
                    of_end = found.setdefault(end, {})
                    of_end[block] = of_end.get(block, 0) + size_of(ranges)
        return found

    def most_needed(self, round_: int) -> dict[int, int]:
        """By block, the most that any end needs: repair symbols serve all ends alike."""
        blocks = self.blocks(round_)
        needs = {block: self.needs_of(round_, block).values() for block in blocks}
        return {block: max(each) for block, each in needs.items() if each}

    def union_listed(self, round_: int, block: int) -> IntervalSet | None:
        """All that is listed of a block: each symbol serves whoever lacks it, and nobody else.

        None if somebody counts instead.
        """
        listed = self.listed_of(round_, block)
        if not listed or len(listed) < len(self.needs_of(round_, block)):
            return None
        return union_of(listed.values())

    def missing(self, round_: int, exact_max: Callable[[int], int]) -> Missing:
        """What all ends together lack, as if one end lacked it; listed up to a size by block."""
        counted, listed, exact = {}, {}, {}
        for block, need in self.most_needed(round_).items():
            union = self.union_listed(round_, block)
            if union is not None and is_listable(union, exact_max(block)):
                listed[block] = Listed(union, need)
            else:
                counted[block] = need
        for block in self.blocks(round_):
            ends = self.exact_of(round_, block)
            if ends:
                exact[block] = union_of(ends.values())
        return Missing(counted, listed, exact)


# A repeated report may be older than the one before it, and then says more: that counts.


def _count(slot: _Slot, block: int, end: int, need: int) -> bool:
    ends = slot.needs.setdefault(block, {})
    if need <= ends.get(end, 0):
        return False
    ends[end] = need
    slot.listed.get(block, {}).pop(end, None)
    return True


def _list(slot: _Slot, end: int, entry: BlockRanges) -> bool:
    ends, listed = slot.needs.setdefault(entry.block, {}), slot.listed.setdefault(entry.block, {})
    if end in ends and end not in listed:
        # It has counted more than it lists.
        return _count(slot, entry.block, end, size_of(entry.ranges))
    ranges = listed.setdefault(end, IntervalSet())
    if not _add(ranges, entry):
        return False
    ends[end] = size_of(ranges)
    return True


def _require(slot: _Slot, end: int, entry: BlockRanges) -> bool:
    return _add(slot.exact.setdefault(entry.block, {}).setdefault(end, IntervalSet()), entry)


def _add(ranges: IntervalSet, entry: BlockRanges) -> bool:
    before = size_of(ranges)
    for start, stop in entry.ranges:
        ranges.add(start, stop)
    return size_of(ranges) > before
