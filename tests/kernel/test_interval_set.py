"""Interval sets against the naive twin: a set of integers."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.kernel.interval_set import IntervalSet

TOP = 40
numbers = st.integers(0, TOP)
# Ends that lie before their start make empty intervals.
ends = st.integers(0, TOP + 5)


def intervals_of(members: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(members):
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


class SetAndTwin(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fast = IntervalSet()
        self.naive: set[int] = set()

    @rule(start=numbers, stop=ends)
    def add(self, start: int, stop: int) -> None:
        self.fast.add(start, stop)
        self.naive.update(range(start, stop))

    @rule(size=st.integers(1, 3), gap=st.integers(0, 2))
    def add_at_the_end(self, size: int, gap: int) -> None:
        self.add(start := max(self.naive, default=-1) + 1 + gap, start + size)

    @rule(members=st.sets(numbers))
    def add_singly(self, members: set[int]) -> None:
        for number in sorted(members, reverse=True):
            self.add(number, number + 1)

    @rule(start=numbers, stop=ends)
    def remove(self, start: int, stop: int) -> None:
        self.fast.remove(start, stop)
        self.naive.difference_update(range(start, stop))

    @rule(number=ends)
    def remove_below(self, number: int) -> None:
        self.fast.remove_below(number)
        self.naive = {each for each in self.naive if each >= number}

    @rule()
    def clear_a_copy(self) -> None:
        copy = self.fast.copy()
        assert copy == self.fast
        copy.clear()
        assert (copy == self.fast) == (not self.naive)

    @rule(start=ends, stop=ends)
    def ask(self, start: int, stop: int) -> None:
        asked = set(range(start, stop))
        assert self.fast.covers(start, stop) == (asked <= self.naive)
        assert self.fast.overlap(start, stop) == intervals_of(asked & self.naive)
        assert self.fast.missing(start, stop) == intervals_of(asked - self.naive)
        assert (start in self.fast) == (start in self.naive)
        end = start
        while end in self.naive:
            end += 1
        assert self.fast.end_of(start) == end

    @invariant()
    def both_hold_the_same(self) -> None:
        expected = intervals_of(self.naive)
        assert list(self.fast) == expected
        assert len(self.fast) == len(expected)
        assert bool(self.fast) == bool(expected)
        assert self.fast == IntervalSet(reversed(expected))
        assert self.fast.first == min(self.naive, default=None)
        assert self.fast.last == max(self.naive, default=None)


SetAndTwin.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestSetAndTwin = SetAndTwin.TestCase


@given(st.lists(st.tuples(numbers, ends)), st.randoms(use_true_random=False))
def test_the_order_of_additions_does_not_matter(
    intervals: list[tuple[int, int]], rng: Random
) -> None:
    shuffled = intervals * 2
    rng.shuffle(shuffled)
    assert IntervalSet(shuffled) == IntervalSet(intervals)


def test_intervals_that_touch_are_one() -> None:
    held = IntervalSet([(0, 2), (4, 6)])
    held.add(2, 4)
    assert list(held) == [(0, 6)]


def test_what_is_removed_from_the_middle_leaves_two_parts() -> None:
    held = IntervalSet([(0, 9)])
    held.remove(3, 5)
    assert list(held) == [(0, 3), (5, 9)]
    assert repr(held) == "IntervalSet([(0, 3), (5, 9)])"


def test_a_set_is_no_key_and_equals_no_list() -> None:
    assert IntervalSet([(0, 9)]) != [(0, 9)]
    with pytest.raises(TypeError):
        hash(IntervalSet())
