"""What the ends of a head need, round by round.

A *round* is a generation of symbols, as what is needed in it: round 0 opens with FIRST, and the END
of generation g opens round g + 1. There are two slots, tagged by round, because reports for the
next round arrive while the last is being served.
"""

from __future__ import annotations

from typing import Final

from penstock.wire.frames.cast.report import Report


class _Slot:
    """One round."""

    __slots__ = ("everything", "needs", "partial", "parts", "reported", "round")

    def __init__(self, round_: int) -> None:
        self.round: Final = round_
        # By block and end.
        self.needs: Final[dict[int, dict[int, int]]] = {}
        # Ends that need every block.
        self.everything: Final[dict[int, None]] = {}
        # Which parts of an end's report have come.
        self.parts: Final[dict[int, int]] = {}
        self.reported: Final[dict[int, None]] = {}
        # Of these, who does not need everything.
        self.partial: Final[dict[int, None]] = {}


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

    def add(self, round_: int, end: int, report: Report, *, all_blocks: bool) -> bool:
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
            ends = slot.needs.get(block)
            if ends is None:
                if len(slot.needs) >= self._blocks_max:
                    continue
                ends = slot.needs[block] = {}
            # A repeated report may be older than the one before it, and then says more.
            if need > ends.get(end, 0):
                ends[end] = need
                is_new = True
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
            for ends in slot.needs.values():
                ends.pop(end, None)

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
        needing = slot.needs.get(block, ())
        return [end for end in slot.partial if end not in needing]

    def needs_of(self, round_: int, block: int) -> dict[int, int]:
        """What each end needs of a block."""
        slot = self._slot(round_)
        return {} if slot is None else slot.needs.get(block, {})

    def most_needed(self, round_: int) -> dict[int, int]:
        """By block, the most that any end needs: repair symbols serve all ends alike."""
        slot = self._slot(round_)
        if slot is None:
            return {}
        return {block: max(ends.values()) for block, ends in sorted(slot.needs.items()) if ends}
