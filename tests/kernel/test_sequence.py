"""Numbers that wrap, against the naive twin: counters that never do, and all pairs of few bits."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.sequence import (
    ECHO_STAMP,
    EPOCH,
    FLOW_SEQ,
    PACKET,
    SEQ,
    STAMP,
    TOKEN,
    SequenceSpace,
)

FEW_BITS = [SequenceSpace(bits) for bits in (2, 3, 4, 5, 6)]
SPACES = st.sampled_from([*FEW_BITS, EPOCH, SEQ, STAMP])


def count_steps(space: SequenceSpace, start: int, stop: int) -> int:
    """By walking."""
    steps = 0
    while start != stop:
        start = (start + 1) % 2**space.bits
        steps += 1
    return steps


@pytest.mark.parametrize("space", FEW_BITS, ids=lambda space: f"{space.bits} bits")
def test_every_pair_agrees_with_one_who_walks_from_one_to_the_other(space: SequenceSpace) -> None:
    size, half = 2**space.bits, 2 ** (space.bits - 1)
    for earlier in range(size):
        for later in range(size):
            steps = count_steps(space, earlier, later)
            assert space.next(earlier, steps) == later
            assert space.is_newer(later, earlier) is (0 < steps < half)
            assert space.distance(later, earlier) == (steps if steps < half else steps - size)
            between = [(earlier + step) % size for step in range(1, steps)] if steps < half else []
            for most in (0, 1, 2, size):
                expected = between[max(0, len(between) - most) :]
                assert list(space.missing_between(earlier, later, most=most)) == expected
        for near in range(earlier - 2 * size, earlier + 2 * size):
            number = space.unwrap(earlier, near)
            assert number % size == earlier
            assert -half <= number - near < half


@given(SPACES, st.data())
def test_what_is_counted_later_is_newer_and_as_far_as_was_counted(
    space: SequenceSpace, data: st.DataObject
) -> None:
    half = 2 ** (space.bits - 1)
    count = data.draw(st.integers(0, 2**80), "count")
    steps = data.draw(st.integers(1, half - 1), "steps")
    earlier, later = count & space.mask, count + steps & space.mask
    assert later == space.next(earlier, steps)
    assert space.is_newer(later, earlier)
    assert not space.is_newer(earlier, later)
    assert (space.distance(later, earlier), space.distance(earlier, later)) == (steps, -steps)
    assert space.unwrap(later, count) == count + steps
    assert space.unwrap(earlier, count + steps) == count
    # Counters that did not wrap may be given as they are.
    assert space.distance(count + steps, count) == steps


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 0, True),
        (0, 1, False),
        (5, 5, False),
        (0, 0xFFFF, True),
        (0xFFFF, 0, False),
        (0x7FFF, 0, True),
        (0x8000, 0, False),
        (0, 0x8000, False),
    ],
)
def test_newer_across_the_wrap(left: int, right: int, expected: bool) -> None:
    assert EPOCH.is_newer(left, right) is expected


def test_of_two_opposite_numbers_each_is_far_before_the_other() -> None:
    assert SEQ.distance(2**31, 0) == SEQ.distance(0, 2**31) == -(2**31)
    assert SEQ.unwrap(2**31, 2**40) == 2**40 - 2**31
    assert not SEQ.missing_between(0, 2**31, most=9)


@given(SPACES, st.data())
def test_a_run_ends_where_it_is_told_to(space: SequenceSpace, data: st.DataObject) -> None:
    last = data.draw(st.integers(0, space.mask), "last")
    count = data.draw(st.integers(0, min(300, space.mask)), "count")
    naive = [(last - back) % 2**space.bits for back in reversed(range(count))]
    assert list(space.run_to(last, count)) == naive


def test_a_huge_gap_costs_no_more_than_what_is_listed() -> None:
    assert list(SEQ.missing_between(5, 2**31, most=3)) == [2**31 - 3, 2**31 - 2, 2**31 - 1]
    assert SEQ.missing_between(2**32 - 2, 3, most=9) == [2**32 - 1, 0, 1, 2]
    assert SEQ.missing_between(2**32 - 3, 0, most=9) == range(2**32 - 2, 2**32)


@given(SPACES, st.data())
def test_runs_say_the_same_numbers_in_as_few_words_as_there_can_be(
    space: SequenceSpace, data: st.DataObject
) -> None:
    near = data.draw(st.integers(0, space.mask), "near")
    steps = data.draw(st.lists(st.integers(0, 3), max_size=30), "steps")
    numbers = []
    for step in steps:
        near = space.next(near, step)
        numbers.append(near)
    runs = list(space.runs(numbers))
    told = [number for first, count in runs for number in space.run_to(first + count - 1, count)]
    assert told == numbers
    for (first, count), (following, _) in pairwise(runs):
        assert following != space.next(first, count)


def test_runs_of_sorted_numbers_do_not_cross_the_wrap() -> None:
    numbers = sorted([2**32 - 1, 0, 1, 7])
    assert list(SEQ.runs(numbers)) == [(0, 2), (7, 1), (2**32 - 1, 1)]
    assert list(SEQ.runs([2**32 - 1, 0])) == [(2**32 - 1, 2)]
    assert list(SEQ.runs([])) == []


def test_the_spaces_are_those_of_the_wire() -> None:
    spaces = SEQ, FLOW_SEQ, PACKET, ECHO_STAMP, EPOCH, TOKEN, STAMP
    assert [space.bits for space in spaces] == [32, 32, 32, 32, 16, 16, 48]
    assert (SEQ.mask, EPOCH.mask) == (0xFFFFFFFF, 0xFFFF)


def test_misuse_is_our_own_bug() -> None:
    for bits in (-1, 0, 1):
        with pytest.raises(AssertionError):
            SequenceSpace(bits)
    with pytest.raises(AssertionError):
        SEQ.missing_between(0, 9, most=-1)
