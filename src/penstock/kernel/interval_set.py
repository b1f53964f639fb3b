"""A set of integers, kept as sorted, disjoint intervals.

Intervals are half-open: `start` is in one, `stop` is not. As in `range`, one whose `stop` does not
lie behind its `start` is empty, and no error.

Two parallel lists and a binary search: every operation costs O(log n) and what it touches, plus a
move of memory where intervals appear or disappear before the end. Sets mostly grow at their end, so
`add` tries there first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final


class IntervalSet:
    """Integers; intervals that touch are one."""

    __slots__ = ("_starts", "_stops")

    # Sets change.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: Final[list[int]] = []
        self._stops: Final[list[int]] = []
        for start, stop in intervals:
            self.add(start, stop)

    def add(self, start: int, stop: int) -> None:
        """Adds the integers from `start` up to, not including, `stop`."""
        starts, stops = self._starts, self._stops
        if not stops or start > stops[-1]:
            if start < stop:
                starts.append(start)
                stops.append(stop)
        elif start >= starts[-1]:
            # Quicker than `max`, and this runs for every message.
            if stop > stops[-1]:  # noqa: PLR1730
                stops[-1] = stop
        elif start < stop:
            self._insert(start, stop)

    def _insert(self, start: int, stop: int) -> None:
        starts, stops = self._starts, self._stops
        # The intervals that overlap or touch the new one, which replaces them.
        low = bisect_left(stops, start)
        high = bisect_right(starts, stop, low)
        if low == high:
            starts.insert(low, start)
            stops.insert(low, stop)
            return
        starts[low] = min(start, starts[low])
        stops[low] = max(stop, stops[high - 1])
        if high - low > 1:
            del starts[low + 1 : high]
            del stops[low + 1 : high]

    def remove(self, start: int, stop: int) -> None:
        """Removes the integers from `start` up to, not including, `stop`."""
        if start >= stop:
            return
        starts, stops = self._starts, self._stops
        low = bisect_right(stops, start)
        high = bisect_left(starts, stop, low)
        if low == high:
            return
        first, end = starts[low], stops[high - 1]
        left, right = first < start, stop < end
        starts[low:high] = [first] * left + [stop] * right
        stops[low:high] = [start] * left + [end] * right

    def remove_below(self, number: int) -> None:
        """Removes every integer smaller than `number`."""
        starts, stops = self._starts, self._stops
        if not starts or starts[0] >= number:
            return
        if stops[0] <= number:
            gone = bisect_right(stops, number)
            del starts[:gone]
            del stops[:gone]
            if not starts or starts[0] >= number:
                return
        starts[0] = number

    def clear(self) -> None:
        """Removes everything."""
        self._starts.clear()
        self._stops.clear()

    def copy(self) -> IntervalSet:
        """An independent set of the same integers."""
        other = IntervalSet()
        other._starts.extend(self._starts)
        other._stops.extend(self._stops)
        return other

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number)
        return at > 0 and number < self._stops[at - 1]

    def covers(self, start: int, stop: int) -> bool:
        """Whether every integer from `start` up to `stop` is in the set."""
        if start >= stop:
            return True
        at = bisect_right(self._starts, start)
        return at > 0 and stop <= self._stops[at - 1]

    def end_of(self, number: int) -> int:
        """The smallest integer from `number` on that is not in the set."""
        at = bisect_right(self._starts, number)
        return max(number, self._stops[at - 1]) if at else number

    def overlap(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The intervals of [start, stop) that are in the set, in order."""
        if start >= stop:
            return []
        starts, stops = self._starts, self._stops
        low = bisect_right(stops, start)
        high = bisect_left(starts, stop, low)
        if low == high:
            return []
        found = list(zip(starts[low:high], stops[low:high], strict=True))
        found[0] = (max(start, starts[low]), stops[low])
        found[-1] = (found[-1][0], min(stop, stops[high - 1]))
        return found

    def missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The intervals of [start, stop) that are not in the set, in order."""
        starts, stops = self._starts, self._stops
        at = bisect_right(stops, start)
        found = []
        while start < stop:
            if at == len(starts) or starts[at] >= stop:
                found.append((start, stop))
                break
            if start < starts[at]:
                found.append((start, starts[at]))
            start = stops[at]
            at += 1
        return found

    @property
    def first(self) -> int | None:
        """The smallest integer; None if there is none."""
        return self._starts[0] if self._starts else None

    @property
    def last(self) -> int | None:
        """The largest integer; None if there is none."""
        return self._stops[-1] - 1 if self._stops else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._stops, strict=True)

    def __len__(self) -> int:
        """The number of intervals, not of integers."""
        return len(self._starts)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._starts == other._starts and self._stops == other._stops

    def __repr__(self) -> str:
        return f"IntervalSet({list(self)})"
