"""Messages that came and wait for others, by rising number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate
from operator import attrgetter
from typing import Final

import msgspec

from penstock.kernel.instant import Duration, Instant
from penstock.trace.fates import ReceiverFate
from penstock.wire.frames.data import Data

_NUMBER: Final = attrgetter("number")


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """One of them, and the latch that it found."""

    number: int
    frame: Data
    arrived_ns: Instant
    latch_ns: Duration
    # What becomes of it when it is handed over.
    fate: ReceiverFate = ReceiverFate.DELIVERED


class Held:
    """Few as a rule, so a sorted list will do."""

    __slots__ = ("_earliest", "waiting")

    def __init__(self) -> None:
        # For others to look at: whether there are any is asked for every message.
        self.waiting: Final[list[Waiting]] = []
        # The earliest arrival of each and all that follow it, from the last on; made when asked
        # for, which one record may do for each of its entries.
        self._earliest: list[Instant] = []

    def __len__(self) -> int:
        return len(self.waiting)

    @property
    def lowest(self) -> int:
        """The number of the first; there must be one."""
        return self.waiting[0].number

    def add(self, waiting: Waiting) -> None:
        """Wherever it belongs."""
        insort(self.waiting, waiting, key=_NUMBER)
        self._earliest = []

    def take_below(self, number: int | None) -> list[Waiting]:
        """Takes out those with a lower number, or all."""
        waiting = self.waiting
        end = len(waiting) if number is None else bisect_left(waiting, number, key=_NUMBER)
        taken = waiting[:end]
        del waiting[:end]
        self._earliest = []
        return taken

    def first_arrival_above(self, number: int) -> Instant | None:
        """When the first of those came that have a higher number; None if there are none."""
        if not self.waiting:
            return None
        if not self._earliest:
            self._earliest = list(accumulate((w.arrived_ns for w in reversed(self.waiting)), min))
        above = len(self.waiting) - bisect_right(self.waiting, number, key=_NUMBER)
        return self._earliest[above - 1] if above else None
