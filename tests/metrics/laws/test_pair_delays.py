"""Consecutive delays of the pair that was delayed most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from penstock.metrics.laws.pair_delays import PairDelays
from penstock.metrics.results import Results
from penstock.metrics.sketches import POINTS_MAX, Bins, Points, Sketch
from penstock.trace.records import Arrival
from tests.metrics.laws.arrivals import by_time, delayed
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of

RUN = replace(
    TEN_SECONDS,
    measure={"pair": ["p", "s"], "delay_split_ms": 500},
    groups={"p": ["p-1", "p-2"], "s": ["s-1", "s-2"]},
)


def measured(rows: Iterable[Arrival], *, batch_rows: int = 3) -> Results:
    return measure_rows(by_time(rows), [PairDelays], run=RUN, batch_rows=batch_rows)


def sketches_of(results: Results) -> dict[str, Sketch]:
    return {key.flat: sketch for key, sketch in results.sketches.items()}


def test_points_are_a_delay_and_the_next_in_order_of_publication() -> None:
    # 2 arrives before 1; the other pair was never delayed as much.
    rows = delayed([10, 30, 15, 17])
    assert [row.seq for row in by_time(rows)] == [0, 2, 1, 3]
    results = measured([*rows, *delayed([20] * 4, ("p-1", "s-2"))])
    assert sketches_of(results) == {"pair_delays": Points(x=[10, 30, 15], y=[30, 15, 17], total=3)}
    figures = values_of(results)
    assert (figures["pair_messages"], figures["pair_delay_max"]) == (4, 30)
    assert figures["pair_high_delays"] == 0
    assert "difference_ks" not in figures


def test_a_publisher_that_restarts_goes_on_in_the_order_of_publication() -> None:
    rows = [*delayed([1, 2, 3]), *delayed([4, 5], epoch=1, start_ms=100)]
    assert sketches_of(measured(rows))["pair_delays"] == Points(
        x=[1, 2, 3, 4], y=[2, 3, 4, 5], total=4
    )


def test_a_pair_with_few_messages_is_not_chosen() -> None:
    results = measured([*delayed([10] * 10), *delayed([90] * 7, ("p-2", "s-2"))])
    assert values_of(results)["pair_delay_max"] == 10


def test_of_pairs_delayed_alike_the_subscriber_seen_first_is_chosen() -> None:
    first = delayed([5], ("p-2", "s-2"))
    rows = [*first, *delayed([10, 30, 30], ("p-1", "s-1")), *delayed([11, 30, 30], ("p-1", "s-2"))]
    for batch_rows in (1, 3, 100):
        points = sketches_of(measured(rows, batch_rows=batch_rows))["pair_delays"]
        assert isinstance(points, Points)
        assert points.x == [11, 30]


def test_without_a_pair_nothing_is_reported() -> None:
    elsewhere = delayed([10, 20], ("p-3", "s-1"))
    for rows in ([], delayed([10]), elsewhere):
        results = measured(rows)
        assert (results.values, results.sketches) == ({}, {})
    results = measure_rows(delayed([10, 20]), [PairDelays])
    assert (results.values, results.sketches) == ({}, {})


def test_differences_at_low_and_high_delay_are_counted_apart_in_the_same_bins() -> None:
    # A sawtooth of 1 ms below the split, then one of 3 ms above it, with one step between.
    low_ms = 100 + np.tile([0.0, 1.0], 1000)
    high_ms = 600 + np.tile([0.0, 3.0], 250)
    delays = [*low_ms, *high_ms]
    results = measured(delayed(delays), batch_rows=500)
    assert values_of(results)["pair_high_delays"] == 500
    assert values_of(results)["difference_ks"] > 0.4
    found = sketches_of(results)
    points, low, high = (
        found[name] for name in ("pair_delays", "pair_differences.low", "pair_differences.high")
    )
    assert isinstance(points, Points)
    assert (len(points.x), points.total) == (POINTS_MAX, len(delays) - 1)
    assert isinstance(low, Bins)
    assert isinstance(high, Bins)
    assert (low.start, low.width, len(low.counts)) == (high.start, high.width, len(high.counts))
    # The step itself belongs to a message of high delay, and lies far beyond all bins.
    assert (low.total, high.total, high.above) == (1999, 500, 1)
    assert _at(low, 1) == 1000
    assert _at(low, -1) == 999
    assert _at(low, 3) == _at(high, 1) == 0
    assert _at(high, 3) == 250
    assert low.law == [2 / 3]
    assert high.law[0] > 2


def _at(bins: Bins, value: float) -> int:
    return bins.counts[int(np.floor(value / bins.width) - np.floor(bins.start / bins.width))]
