"""Results hold what metrics declare, and nothing else."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from penstock.metrics.base import Entity, Output
from penstock.metrics.results import Key, Results

OUTPUTS = (
    Output(name="rate", unit="/s", meaning="…", entity=Entity.SUBSCRIBER, phased=True),
    Output(name="jain", unit="1", meaning="…", kinds=("value", "series")),
    Output(name="delay", unit="ms", meaning="…", entity=Entity.PAIR),
)


@pytest.fixture
def results() -> Results:
    return Results("run", OUTPUTS)


def test_a_flat_name_is_metric_entity_and_phase() -> None:
    assert Key("rate", entity="s-1", phase="half").flat == "rate.s-1.half"
    assert Key("jain").flat == "jain"


def test_values_are_kept_by_ordering_entity_and_phase(results: Results) -> None:
    results.add_value("rate", 2, entity="s-1", phase="half", ordering="fifo")
    [(key, value)] = results.values.items()
    assert (key.ordering, key.entity_kind, key.flat, value) == (
        "fifo",
        Entity.SUBSCRIBER,
        "rate.s-1.half",
        2.0,
    )


def test_what_could_not_be_computed_is_left_out(results: Results) -> None:
    results.add_value("jain", nan)
    assert not results.values


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (lambda out: out.add_value("jian", 1), "jian is declared by no metric"),
        (lambda out: out.add_value("rate", 1), "as a value of the run"),
        (lambda out: out.add_value("jain", 1, entity="s-1"), "as a value of an entity"),
        (lambda out: out.add_value("jain", 1, phase="half"), "jain is declared without phases"),
        (lambda out: out.add_curve("jain", [1]), "jain is declared without a curve"),
        (lambda out: out.add_pairs("jain", ["s"], ["p"], [1]), "jain is declared for no pair"),
    ],
)
def test_an_undeclared_output_is_an_error_of_the_metric(
    results: Results, report: object, reason: str
) -> None:
    assert callable(report)
    with pytest.raises(AssertionError, match=reason):
        report(results)


def test_shares_have_no_unit_in_results(results: Results) -> None:
    assert results.unit("jain") == ""
    assert results.unit("rate", Entity.SUBSCRIBER) == "/s"


def test_a_series_of_some_seconds_is_sparse(results: Results) -> None:
    results.add_series("jain", [1, 2])
    assert not results.series[Key("jain")].is_sparse
    results.add_series("jain", [1, 2], at=np.array([3, 5]))
    assert results.series[Key("jain")].is_sparse
    assert results.series[Key("jain")].seconds.tolist() == [3, 5]
