"""Tallies of parts add up to the tally of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.metrics.tally import Tally


def test_arrays_are_added_place_by_place_and_the_shorter_is_filled_up() -> None:
    one, other = Tally(), Tally()
    one.add("rows", [1, 2])
    other.add("rows", [10, 20, 30])
    one.merge(other)
    assert one.get("rows").tolist() == [11, 22, 30]


def test_minima_and_maxima_of_parts_are_taken() -> None:
    one, other = Tally(), Tally()
    for tally, value in ((one, 3), (other, 7)):
        tally.add("least", value, op="min")
        tally.add("most", value, op="max")
    one.merge(other)
    assert (one.number("least"), one.number("most")) == (3, 7)


def test_a_name_keeps_its_operation() -> None:
    tally = Tally()
    tally.add("most", 1, op="max")
    with pytest.raises(AssertionError, match="most was tallied by max"):
        tally.add("most", 1)


def test_bins_are_added_by_number() -> None:
    one, other = Tally(), Tally()
    one.add_bins("delay", np.array([1, 5]), np.array([2, 1]))
    other.add_bins("delay", np.array([-3, 5]), np.array([4, 6]))
    one.merge(other)
    bins, counts = one.bins("delay")
    assert (bins.tolist(), counts.tolist()) == ([-3, 1, 5], [4, 2, 7])


def test_entities_of_parts_are_collected() -> None:
    one, other = Tally(), Tally()
    one.add_entities("mean", ["a"], [[1, 2]], peers=["p"], ordering="fifo")
    other.add_entities("mean", ["b"], [[3, 4]], peers=["p"], ordering="fifo")
    one.merge(other)
    found = one.entities("mean", ordering="fifo")
    assert (found.names, found.peers, found.values.tolist()) == (
        ["a", "b"],
        ["p", "p"],
        [[1, 2], [3, 4]],
    )


def test_orderings_are_sorted_and_the_network_comes_first() -> None:
    tally = Tally()
    for ordering in ("b", "", "a"):
        tally.add("rows", 1, ordering=ordering)
    tally.add("other", 1, ordering="c")
    assert tally.orderings("rows") == ["", "a", "b"]


def test_what_was_not_tallied_is_nothing() -> None:
    tally = Tally()
    assert tally.get("rows").size == 0
    assert tally.number("rows") == 0
    assert tally.bins("delay")[0].size == 0
    assert tally.entities("mean").names == []


def test_numbers_beyond_a_double_stay_exact() -> None:
    one, other = Tally(), Tally()
    one.add("total", 1 << 60)
    other.add("total", 1)
    one.merge(other)
    assert one.number("total") == (1 << 60) + 1


@pytest.mark.parametrize("part", [np.int8(100), np.uint8(100), True, 2**40])
def test_parts_of_small_types_do_not_overflow(part: int) -> None:
    tally = Tally()
    for _ in range(3):
        tally.add("n", part)
    assert tally.number("n") == 3 * int(part)
