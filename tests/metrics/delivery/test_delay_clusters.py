"""Clusters of delays, counted in a bounded sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.metrics.delivery.delay_clusters import DelayClusters, Sample
from tests.metrics.delivery.made import WITH_PHASE, arrival
from tests.metrics.measured import measure_rows, values_of


def test_clusters_are_counted_in_the_whole_run_and_in_each_phase() -> None:
    rows = []
    for seq in range(600):
        hops, at = 1 + seq % 3, 6000 + 14 * seq
        # In the last four seconds all take the same way.
        delay = 50 * (hops if at < 11_000 else 1) + seq % 7
        rows.append(arrival(seq, at, published_ms=at - delay))
    found = values_of(measure_rows(rows, [DelayClusters], run=WITH_PHASE, batch_rows=64))
    assert found == {"delay_clusters": 3, "delay_clusters.late": 1}


def test_the_experiment_says_how_far_clusters_are_apart() -> None:
    rows = [arrival(seq, 1000, published_ms=900 - 50 * (seq % 2)) for seq in range(400)]
    wide = replace(WITH_PHASE, measure={"hop_ms": 500})
    assert values_of(measure_rows(rows, [DelayClusters], batch_rows=64)) == {"delay_clusters": 2}
    found = values_of(measure_rows(rows, [DelayClusters], run=wide, batch_rows=64))
    assert found == {"delay_clusters": 1}


def test_delays_too_far_apart_for_clusters_are_no_result_and_no_error() -> None:
    rows = [arrival(seq, 12_000, published_ms=11_950) for seq in range(100)]
    rows.append(arrival(100, 1_000_000, published_ms=0))
    found = values_of(measure_rows(rows, [DelayClusters], run=WITH_PHASE, batch_rows=64))
    assert found == {"delay_clusters.late": 1}


def test_nothing_arrived_is_no_result() -> None:
    assert not measure_rows([], [DelayClusters], recorded=["arrivals"]).values


@pytest.mark.parametrize("batch_rows", [1, 3, 10, 37, 1000])
def test_a_sample_is_every_so_many_th_value_whatever_the_batches(batch_rows: int) -> None:
    values = np.arange(1000)
    sample = Sample(size_max=100)
    for start in range(0, len(values), batch_rows):
        sample.add(values[start : start + batch_rows])
    assert sample.values().tolist() == values[::16].tolist()


def test_a_sample_keeps_everything_while_it_fits() -> None:
    sample = Sample(size_max=10)
    sample.add(np.arange(4))
    sample.add(np.arange(4, 10))
    assert sample.values().tolist() == list(range(10))
