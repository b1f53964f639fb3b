"""What was expected and received, by second and phase."""

from __future__ import annotations

from penstock.kernel.instant import SECOND
from penstock.metrics.delivery.received import Received
from penstock.metrics.run_info import RunInfo
from tests.metrics.delivery.made import (
    WITH_PHASE,
    arrival,
    delivery,
    expected,
    publication,
)
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-1", "s-2")


def test_deliveries_are_those_of_the_network_and_those_of_each_ordering() -> None:
    rows = [arrival(0, 500), arrival(1, 1500), delivery("on", 0, 500, 2500)]
    results = measure_rows(rows, [Received])
    assert values_of(results)["deliveries"] == 2
    assert series_of(results, "deliveries")[:3] == [1, 1, 0]
    assert values_of(results, ordering="on")["deliveries"] == 1
    assert series_of(results, "deliveries", ordering="on")[:3] == [0, 0, 1]


def test_what_comes_outside_of_the_experiment_counts_in_the_total_alone() -> None:
    rows = [arrival(0, 1000), arrival(1, 6000), arrival(2, 12_000), arrival(3, 20_000)]
    results = measure_rows(rows, [Received], run=WITH_PHASE)
    found = values_of(results)
    assert found["deliveries"] == 4
    assert sum(series_of(results, "deliveries")) == 2
    assert (found["delivery_rate"], found["delivery_rate.late"]) == (2 / 10, 1 / 4)
    assert found["deliveries.late"] == 1


def test_receivers_per_message_counts_messages_that_were_offered_and_never_left() -> None:
    rows = [publication(0), publication(1, 1), publication(None), publication(None)]
    rows_expected = [expected(0), expected(0, who=OTHER), expected(1, 1)]
    found = values_of(measure_rows([*rows, *rows_expected], [Received]))
    assert found["expected"] == 3
    assert found["receivers_per_message"] == 3 / 4


def test_the_peak_is_smoothed_over_a_sixtieth_of_the_experiment() -> None:
    run = RunInfo(id="test", origin=0, duration=120 * SECOND)
    rows = [arrival(seq, 1000 + seq) for seq in range(6)]
    rows += [arrival(seq, 2000 + seq) for seq in range(6, 10)]
    assert values_of(measure_rows(rows, [Received], run=run))["delivery_rate_peak"] == 5


def test_tables_that_were_recorded_without_rows_count_zero() -> None:
    results = measure_rows([], [Received], recorded=["publications", "expected", "arrivals"])
    found = values_of(results)
    assert (found["expected"], found["deliveries"], found["receivers_per_message"]) == (0, 0, 0)
    assert series_of(results, "deliveries") == [0] * 10
    assert not measure_rows([], [Received]).values


def test_an_ordering_whose_application_got_nothing_has_no_deliveries() -> None:
    rows = [delivery("on", 0, 1, None)]
    assert values_of(measure_rows(rows, [Received]), ordering="on")["deliveries"] == 0


def test_parts_add_up() -> None:
    rows = [publication(0), expected(0), expected(0, who=OTHER)]
    received = [arrival(0, 1), arrival(0, 7000, OTHER), delivery("on", 0, 1, 2)]
    assert_parts_add_up([*rows, *received], Received, run=WITH_PHASE)
