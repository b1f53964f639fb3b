"""Jain's index over receivers."""

from __future__ import annotations

import pytest

from penstock.metrics.delivery.fairness import Fairness
from tests.metrics.delivery.made import (
    WITH_PHASE,
    arrival,
    delivery,
    expected,
)
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-1", "s-2")


def test_one_that_expects_something_and_gets_nothing_counts() -> None:
    rows = [expected(0), expected(0, who=OTHER), arrival(0, 1)]
    assert values_of(measure_rows(rows, [Fairness])) == {"jain": 0.5}


def test_what_comes_after_the_experiment_or_before_it_does_not_count() -> None:
    rows = [arrival(0, 1000), arrival(1, 6000), arrival(0, 6000, OTHER), arrival(2, 16_000)]
    found = measure_rows(rows, [Fairness], run=WITH_PHASE, recorded=["expected"])
    assert values_of(found)["jain"] == 1


def test_each_phase_has_its_own_index_over_the_same_receivers() -> None:
    rows = [arrival(0, 6000), arrival(0, 6000, OTHER), arrival(1, 12_000)]
    found = values_of(measure_rows(rows, [Fairness], run=WITH_PHASE, recorded=["expected"]))
    assert found == {"jain": pytest.approx(9 / 10), "jain.late": 0.5}


def test_each_ordering_has_its_own_index() -> None:
    rows = [expected(0), expected(0, who=OTHER), arrival(0, 1), arrival(0, 1, OTHER)]
    results = measure_rows([*rows, delivery("on", 0, 1, 1)], [Fairness])
    assert values_of(results) == {"jain": 1}
    assert values_of(results, ordering="on") == {"jain": 0.5}


def test_without_expected_messages_nobody_knows_who_got_nothing() -> None:
    assert not measure_rows([arrival(0, 1)], [Fairness]).values


def test_nobody_has_no_index() -> None:
    recorded = ["expected", "arrivals", "deliveries"]
    assert not measure_rows([], [Fairness], recorded=recorded).values
    found = values_of(measure_rows([expected(0)], [Fairness], recorded=recorded))
    assert found == {"jain": 1}


def test_parts_add_up_even_if_one_of_them_knows_nothing_of_an_ordering() -> None:
    rows = [expected(0), expected(0, who=OTHER), arrival(0, 6000), arrival(0, 12_000, OTHER)]
    came = [delivery("on", 0, 6000, 12_000)]
    assert_parts_add_up([*rows, *came], Fairness, run=WITH_PHASE)
