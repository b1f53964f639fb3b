"""Quantiles of the last syncs."""

from __future__ import annotations

from penstock.guaranteed.sync_times import SAMPLES_MAX, SyncTimes


def test_quantiles_are_those_of_the_last_syncs() -> None:
    times = SyncTimes()
    assert times.quantile(0.99) is None
    times.add(5)
    assert times.quantile(0.5) == times.quantile(0.99) == 5
    for duration_ns in range(SAMPLES_MAX):
        times.add(duration_ns)
    assert times.quantile(0.5) == SAMPLES_MAX // 2
    assert times.quantile(0.99) == SAMPLES_MAX * 99 // 100
    assert times.quantile(1.0) == SAMPLES_MAX - 1
