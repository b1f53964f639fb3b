"""What each receiver got and was to get."""

from __future__ import annotations

from penstock.metrics.delivery.receivers import RECEIVERS_MAX, Receivers
from penstock.metrics.results import Results
from tests.metrics.delivery.made import WITH_PHASE, arrival, expected
from tests.metrics.measured import measure_rows, series_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-1", "s-2")


def rates_of(results: Results) -> dict[tuple[str, str], float]:
    (found,) = results.pairs
    return dict(zip(zip(found.names, found.peers, strict=True), found.values, strict=True))


def test_rates_of_pairs_are_of_what_came_within_the_experiment() -> None:
    rows = [expected(0, 6, OTHER)]
    came = [arrival(0, 1000), arrival(1, 6000), arrival(2, 7000), arrival(3, 15_000)]
    rates = rates_of(measure_rows([*rows, *came], [Receivers], run=WITH_PHASE))
    assert rates == {("s-1", "p-1"): 2 / 10, ("s-2", "p-1"): 0}


def test_series_are_of_everybody_whom_anything_was_for_or_came_to() -> None:
    rows = [expected(0, 2, OTHER), expected(1, 3, OTHER), expected(2, 99, OTHER), arrival(0, 1500)]
    results = measure_rows(rows, [Receivers])
    assert {key.flat for key in results.series} == {
        *("received.s-1", "received.s-2", "wanted.s-1", "wanted.s-2")
    }
    assert series_of(results, "wanted.s-2") == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    assert series_of(results, "received.s-1") == [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert sum(series_of(results, "received.s-2")) == 0


def test_series_end_when_there_are_too_many_receivers() -> None:
    rows = [arrival(0, 1, ("p-1", f"s-{number}")) for number in range(RECEIVERS_MAX)]
    one_more = arrival(0, 1, ("p-1", "s-x"))
    assert len(measure_rows(rows, [Receivers]).series) == RECEIVERS_MAX
    results = measure_rows([*rows, one_more], [Receivers])
    assert not results.series
    assert len(rates_of(results)) == RECEIVERS_MAX + 1
    assert_parts_add_up([*rows, one_more], Receivers)


def test_tables_that_were_not_recorded_give_nothing() -> None:
    results = measure_rows([expected(0)], [Receivers])
    assert not results.pairs
    assert {key.flat for key in results.series} == {"wanted.s-1"}


def test_parts_add_up() -> None:
    rows = [expected(0, 6), expected(0, 7, OTHER), arrival(0, 6000), arrival(0, 9000, OTHER)]
    assert_parts_add_up(rows, Receivers, run=WITH_PHASE)
