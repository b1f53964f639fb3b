"""Limits of repair caches."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernel.instant import SECOND
from penstock.metrics.recovery.caches import Caches
from penstock.trace.records import CacheSample, Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up

RUN = replace(TEN_SECONDS, origin=SECOND, duration=2 * SECOND)


def sample(at_s: int, limit: int, node: str = "s-1") -> CacheSample:
    return CacheSample(at_s * SECOND, node, "p-1", 1, limit, 100, 0, 0)


def samples() -> list[Row]:
    return [
        # Before the experiment, of a publisher's own cache, within, and while the run drains.
        *(sample(1, 99), sample(2, 99, "p-1")),
        *(sample(2, 5), sample(2, 15), sample(4, 40)),
    ]


def test_limits_of_subscribers_count_from_the_end_of_the_warm_up() -> None:
    assert values_of(measure_rows(samples(), [Caches], run=RUN)) == {
        "cache_limit_min": 5, "cache_limit_mean": 20, "cache_limit_max": 40,
        "cache_limit_share": 0.5,
    }  # fmt: skip


def test_a_sample_belongs_to_the_second_that_it_ends() -> None:
    results = measure_rows(samples(), [Caches], run=RUN)
    found = {name: series_of(results, f"cache_limit_{name}") for name in ("min", "mean", "max")}
    assert found == {"min": [5], "mean": [10], "max": [15]}
    assert {tuple(series.seconds) for series in results.series.values()} == {(0,)}


def test_without_a_sample_there_is_nothing_to_report() -> None:
    results = measure_rows([], [Caches], run=RUN, recorded=["caches"])
    assert not results.values
    assert not results.series


def test_parts_add_up() -> None:
    assert_parts_add_up(samples(), Caches, run=RUN)
