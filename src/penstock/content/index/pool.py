"""Candidates in one array, so that those of a whole message are passed as spans.

A bucket owns a region of the pool and doubles it when it is full. Removal only counts: a removed
slot remains, failing every check, until enough are dead to pay for sweeping them out. Both take
constant time amortised, however large the bucket.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import isnan
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from penstock.content.index.level import Level

Slots: TypeAlias = NDArray[np.int32]
# Start and length of each run of candidates, alternating.
Spans: TypeAlias = list[int]

_SMALLEST: Final = 4
# Unsorted members tolerated before they are sorted in.
_SLACK: Final = 32


class Pool:
    """Regions of 4, 8, 16 … slots of one growing array.

    Stored twice: a list is fast to slice a few slots from, an array to process many.
    """

    __slots__ = ("_free", "_used", "array", "listed")

    def __init__(self) -> None:
        self.array: Slots = np.zeros(4096, np.int32)
        self.listed = [0] * 4096
        self._used = 0
        self._free: dict[int, list[int]] = {}

    def take(self, capacity: int) -> int:
        """The start of a region of this capacity, which must be a power of two."""
        if free := self._free.get(capacity):
            return free.pop()
        while self._used + capacity > len(self.listed):
            self.array = np.concatenate([self.array, np.zeros_like(self.array)])
            self.listed += [0] * len(self.listed)
        self._used += capacity
        return self._used - capacity

    def give(self, start: int, capacity: int) -> None:
        """Returns a region to the pool."""
        self._free.setdefault(capacity, []).append(start)

    def put(self, start: int, slots: list[int]) -> None:
        """Writes slots into a region."""
        self.array[start : start + len(slots)] = slots
        self.listed[start : start + len(slots)] = slots


class Bucket:
    """Slots that become candidates together."""

    __slots__ = ("_capacity", "_dead", "_pool", "_start", "below", "count", "span")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._start = 0
        self._capacity = 0
        self._dead = 0
        self.count = 0
        self.span: tuple[int, int] = (0, 0)  # start and count, ready to be passed on
        self.below: Level | None = None

    def is_empty(self) -> bool:
        """Whether there are no slots here or below."""
        return not self.count and self.below is None

    def add(self, slot: int) -> None:
        """Makes `slot` a candidate."""
        if self.count == self._capacity:
            self._resize(max(_SMALLEST, 2 * self._capacity))
        place = self._start + self.count
        self._pool.array[place] = slot
        self._pool.listed[place] = slot
        self.count += 1
        self.span = (self._start, self.count)

    def remove_one(self, is_dead: Callable[[int], bool]) -> list[int]:
        """Counts one of the slots as dead; returns the slots that were swept out, if any."""
        self._dead += 1
        if not _is_sweep_due(self._dead, self.count):
            return []
        slots = self.slots()
        self.replace([slot for slot in slots if not is_dead(slot)])
        return [slot for slot in slots if is_dead(slot)]

    def slots(self) -> list[int]:
        """All slots, including dead ones."""
        return self._pool.listed[self._start : self._start + self.count]

    def replace(self, slots: list[int]) -> None:
        """Replaces the contents by these slots, in this order."""
        self._dead = 0
        self.count = 0
        capacity = 0
        if slots:
            capacity = _SMALLEST
            while capacity < len(slots):
                capacity *= 2
        self._resize(capacity)
        self._pool.put(self._start, slots)
        self.count = len(slots)
        self.span = (self._start, self.count)

    def _resize(self, capacity: int) -> None:
        old_start, old_capacity = self._start, self._capacity
        self._capacity = capacity
        if capacity:
            self._start = self._pool.take(capacity)
            self._pool.put(self._start, self._pool.listed[old_start : old_start + self.count])
        if old_capacity:
            self._pool.give(old_start, old_capacity)


class HalfLines:
    """Slots by a bound that the value must reach: candidates are a prefix of the sorted slots.

    The newest are not sorted in yet, and are always candidates.
    """

    __slots__ = ("_bounds", "_dead", "_new", "_new_bounds", "_sorted")

    def __init__(self, pool: Pool) -> None:
        self._bounds: list[float] = []
        self._sorted = Bucket(pool)
        self._new_bounds: list[float] = []
        self._new = Bucket(pool)
        self._dead = 0

    def __len__(self) -> int:
        return self._sorted.count + self._new.count

    def add(self, bound: float, slot: int) -> None:
        """Makes `slot` a candidate for every value from `bound` on."""
        self._new_bounds.append(bound)
        self._new.add(slot)
        if self._new.count > _SLACK + (self._sorted.count >> 3):
            self._sort(self._pairs())

    def remove_one(self, is_dead: Callable[[int], bool]) -> list[int]:
        """Counts one of the slots as dead; returns the slots that were swept out, if any."""
        self._dead += 1
        if not _is_sweep_due(self._dead, len(self)):
            return []
        pairs = self._pairs()
        self._dead = 0
        self._sort([(bound, slot) for bound, slot in pairs if not is_dead(slot)])
        return [slot for _bound, slot in pairs if is_dead(slot)]

    def collect(self, value: float, spans: Spans) -> None:
        """Adds the slots whose bound `value` reaches to a message's candidates."""
        if isnan(value):  # it reaches nothing, though bisection would say otherwise
            return
        if reached := bisect_right(self._bounds, value):
            spans += (self._sorted.span[0], reached)
        if self._new.count:
            spans += self._new.span

    def _pairs(self) -> list[tuple[float, int]]:
        bounds = self._bounds + self._new_bounds
        return list(zip(bounds, self._sorted.slots() + self._new.slots(), strict=True))

    def _sort(self, pairs: list[tuple[float, int]]) -> None:
        pairs.sort()
        self._bounds = [bound for bound, _slot in pairs]
        self._sorted.replace([slot for _bound, slot in pairs])
        self._new_bounds = []
        self._new.replace([])


def _is_sweep_due(dead: int, count: int) -> bool:
    """Whether half are dead: sweeping then costs two steps per dead slot."""
    return 2 * dead >= count
