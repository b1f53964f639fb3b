"""What queues held and how long they took to empty, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.network.queues import Queues
from penstock.trace.records import Row
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.network.samples import link, queue


def found(rows: list[Row]) -> dict[str, float]:
    return values_of(measure_rows(rows, [Queues], recorded=["queues"]))


def test_all_samples_count_for_mean_and_maximum() -> None:
    rows: list[Row] = [queue(0, 100), queue(1, 300, name="B2-B1"), queue(999, 500)]
    told = found(rows)
    assert told["queue_mean"] == 300
    assert told["queue_max"] == 500


def test_a_peak_between_samples_counts_where_it_was_watched() -> None:
    rows: list[Row] = [
        queue(0, 100, peak_bytes=700),
        queue(0, 200, name="B2-B1"),
        queue(1, 300, peak_bytes=300),
    ]
    told = found(rows)
    assert told["queue_peak.B1-B2"] == 700
    assert told["queue_peak.B2-B1"] == 200
    assert told["queue_max"] == 300


def test_a_table_without_rows_has_a_longest_queue_of_nothing() -> None:
    assert found([]) == {"queue_max": 0}
    assert not measure_rows([], [Queues]).values


def test_a_queue_takes_as_long_as_its_link_needs_for_what_it_holds() -> None:
    rows: list[Row] = []
    for i in range(3):
        rows += [link(i), link(i, name="B2-B1", capacity_bps=8_000)]
        rows += [queue(i, 1000 * i), queue(i, 10 * i, name="B2-B1")]
    told = found(rows)
    assert told["queue_delay_mean.B1-B2"] == pytest.approx(8)
    assert told["queue_delay_p95.B1-B2"] == pytest.approx(15.2)
    assert told["queue_delay_mean.B2-B1"] == pytest.approx(10)
    # Of the run: that of the queue where it takes longest.
    assert told["queue_delay_mean"] == told["queue_delay_mean.B2-B1"]
    assert told["queue_delay_p95"] == told["queue_delay_p95.B2-B1"]


def test_only_samples_of_the_same_instant_are_matched() -> None:
    rows: list[Row] = [
        link(0),
        # A slower sample of the same instant does not count.
        link(0, capacity_bps=1000),
        link(2, capacity_bps=None),
        queue(0, 125),
        queue(1, 10_000),
        queue(2, 10_000),
    ]
    assert found(rows)["queue_delay_mean"] == pytest.approx(1)


def test_without_a_rate_there_is_no_delay() -> None:
    told = found([queue(0, 100), link(0, name="elsewhere")])
    assert not [name for name in told if name.startswith("queue_delay")]
