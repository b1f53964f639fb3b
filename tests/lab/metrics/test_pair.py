"""Consecutive delays of the pair that saw most congestion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.lab.experiment import MeasurePart
from penstock.lab.metrics.pair import Pair
from penstock.metrics.sketches import POINTS_MAX, Bins, Points
from tests.lab.metrics.batches import as_they_come, context, delayed, feed

SPLIT_MS = 500


def pair() -> Pair:
    measure = MeasurePart(metrics=[], pair=("p", "s"), delay_split_ms=SPLIT_MS)
    return Pair(replace(context(), measure=measure))


def test_points_are_a_delay_and_the_next_in_order_of_publication() -> None:
    metric = pair()
    # 2 comes before 1; the other pair was never delayed as much.
    rows = delayed([10, 30, 15, 17])
    assert [row.seq for row in as_they_come(rows)] == [0, 2, 1, 3]
    feed(metric, as_they_come([*rows, *delayed([20] * 4, ("p-1", "s-2"))]))
    assert metric.sketches() == {"pair_delays": Points(x=[10, 30, 15], y=[30, 15, 17], total=3)}


def test_where_there_is_no_pair_nothing_is_kept() -> None:
    assert pair().sketches() == {}
    alone = pair()
    feed(alone, delayed([10]))
    assert alone.sketches() == {}


def test_differences_at_low_and_high_delay_are_counted_apart_in_the_same_bins() -> None:
    metric = pair()
    # A sawtooth of 1 ms below the split, then one of 3 ms above it, with one step between.
    low_ms = 100 + np.tile([0.0, 1.0], 1000)
    high_ms = 600 + np.tile([0.0, 3.0], 250)
    delays = [*low_ms, *high_ms]
    feed(metric, as_they_come(delayed(delays)), batch_rows=500)
    found = metric.sketches()
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
