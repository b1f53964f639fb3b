"""Slots that are candidates together.

Removal only counts: a removed slot stays, failing every check, until so many
are dead that sweeping them out has paid for itself. Adding and removing are
thereby constant time amortised, however large the bucket.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from math import isnan
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from penstock.content.index.columns import Slots

if TYPE_CHECKING:
    from penstock.content.index.level import Level

# Dead or unsorted members tolerated before any work is done about them.
_SLACK: Final = 32


class Bucket:
    """A list of slots, with an array copy for when it is long."""

    __slots__ = ("_array", "_dead", "below", "slots")

    def __init__(self) -> None:
        self.slots: list[int] = []
        self.below: Level | None = None
        self._array: Slots | None = None
        self._dead = 0

    def __len__(self) -> int:
        return len(self.slots) - self._dead

    def is_empty(self) -> bool:
        """Whether nothing waits here or below."""
        return not self.slots and self.below is None

    def add(self, slot: int) -> None:
        """Makes `slot` a candidate."""
        self.slots.append(slot)

    def remove_one(self, is_dead: Callable[[int], bool]) -> list[int]:
        """Counts one of the slots as dead; the slots that were swept out, if any were."""
        self._dead += 1
        if self._dead < _SLACK and self._dead < len(self.slots):
            return []
        if self._dead * 2 < len(self.slots):
            return []
        swept = [slot for slot in self.slots if is_dead(slot)]
        self.slots = [slot for slot in self.slots if not is_dead(slot)]
        self._array = None
        self._dead = 0
        return swept

    def gather(self, arrays: list[Slots], loose: list[int]) -> None:
        """Adds all slots to the candidates: most as an array, the newest one by one."""
        array = self._array
        if array is None or len(self.slots) - len(array) > _SLACK + (len(array) >> 3):
            if len(self.slots) <= _SLACK:
                loose += self.slots
                return
            array = self._array = np.array(self.slots, np.int32)
        arrays.append(array)
        if len(array) < len(self.slots):
            loose += self.slots[len(array) :]


class HalfLines:
    """Slots by a bound that the value must reach; the candidates are a run of the sorted ones."""

    __slots__ = ("_array", "_bounds", "_dead", "_new", "_slots")

    def __init__(self) -> None:
        self._bounds: list[float] = []
        self._slots: list[int] = []
        self._array: Slots | None = None
        self._new: list[tuple[float, int]] = []
        self._dead = 0

    def __len__(self) -> int:
        return len(self._slots) + len(self._new) - self._dead

    def add(self, bound: float, slot: int) -> None:
        """Makes `slot` a candidate for every value from `bound` on."""
        self._new.append((bound, slot))
        if len(self._new) > _SLACK + (len(self._slots) >> 3):
            self._merge()

    def remove_one(self, is_dead: Callable[[int], bool]) -> list[int]:
        """Counts one of the slots as dead; the slots that were swept out, if any were."""
        self._dead += 1
        if self._dead < len(self._slots) + len(self._new) and (
            self._dead < _SLACK or self._dead * 2 < len(self._slots) + len(self._new)
        ):
            return []
        self._merge()
        swept = [slot for slot in self._slots if is_dead(slot)]
        alive = [
            (bound, slot)
            for bound, slot in zip(self._bounds, self._slots, strict=True)
            if not is_dead(slot)
        ]
        self._set(alive)
        self._dead = 0
        return swept

    def reached_by(self, value: float) -> list[Run]:
        """The slots whose bound `value` reaches, as one run or none."""
        if isnan(value):  # NaN reaches nothing, though bisection would say otherwise
            return []
        run = bisect_right(self._bounds, value)
        new = [slot for bound, slot in self._new if bound <= value]
        return [Run(self, run, new)] if run or new else []

    def sorted_slots(self) -> list[int]:
        """All slots but the newest, by bound."""
        return self._slots

    def sorted_array(self) -> Slots:
        """The same, as an array."""
        if self._array is None:
            self._array = np.array(self._slots, np.int32)
        return self._array

    def _merge(self) -> None:
        self._set(sorted([*zip(self._bounds, self._slots, strict=True), *self._new]))

    def _set(self, pairs: Iterable[tuple[float, int]]) -> None:
        self._bounds, self._slots = [], []
        for bound, slot in pairs:
            self._bounds.append(bound)
            self._slots.append(slot)
        self._new = []
        self._array = None


class Run:
    """The first slots of a `HalfLines` by bound, and some of its newest."""

    __slots__ = ("_line", "_new", "_sorted")

    below: Final = None

    def __init__(self, line: HalfLines, sorted_count: int, new: list[int]) -> None:
        self._line = line
        self._sorted = sorted_count
        self._new = new

    @property
    def slots(self) -> list[int]:
        """The candidates, one by one."""
        return self._line.sorted_slots()[: self._sorted] + self._new

    def __len__(self) -> int:
        return self._sorted + len(self._new)

    def gather(self, arrays: list[Slots], loose: list[int]) -> None:
        """Adds all slots to the candidates: most as an array, the newest one by one."""
        arrays.append(self._line.sorted_array()[: self._sorted])
        loose += self._new


Candidates: TypeAlias = Bucket | Run
