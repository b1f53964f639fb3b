"""Sizes of flow tables, and flows against their quotas."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.congestion.flow_table import FlowTable
from penstock.metrics.results import Results
from penstock.trace.records import FlowSample
from tests.metrics.congestion.made import run_of
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts


def flow(
    name: str, at_ms: int, quota: float = 1, sent: float = 1, publisher: str = "p-1"
) -> FlowSample:
    return FlowSample(at_ms * MILLISECOND, publisher, name, "s-1", quota, sent, 2)


ROWS = [
    # Taken when the warm-up ends, of which it tells.
    flow("a = 9", 0),
    flow("a = 1", 1000, 10, 8),
    flow("a = 2", 1000, 30, 6),
    flow("a = 1", 2000, 20, 16),
    flow("a = 9", 3000),
]


def pairs_of(results: Results, name: str) -> dict[tuple[str, str], float]:
    (found,) = (pairs for pairs in results.pairs if pairs.metric == name)
    return dict(zip(zip(found.names, found.peers, strict=True), found.values, strict=True))


def test_flows_count_in_the_second_that_their_sample_ends() -> None:
    results = measure_rows(ROWS, [FlowTable], run=run_of(2))
    assert series_of(results, "flow_table.p-1") == [2, 1]
    assert values_of(results) == {"flow_table_mean": 1.5, "flow_table_max": 2, "quota_use": 0.5}


def test_each_flow_has_its_mean_quota_and_rate() -> None:
    results = measure_rows(ROWS, [FlowTable], run=run_of(2))
    assert pairs_of(results, "flow_quota_mps") == {("a = 1", "p-1"): 15, ("a = 2", "p-1"): 30}
    assert pairs_of(results, "flow_sent_mps") == {("a = 1", "p-1"): 12, ("a = 2", "p-1"): 6}


def test_a_flow_that_is_sampled_twice_in_a_second_counts_once() -> None:
    rows = [flow("a = 1", at_ms) for at_ms in (250, 500, 750, 1000)]
    results = measure_rows(rows, [FlowTable], run=run_of(2))
    assert series_of(results, "flow_table.p-1") == [1, 0]
    assert values_of(results)["flow_table_mean"] == 0.5


def test_publishers_have_tables_of_their_own() -> None:
    rows = [flow("a = 1", 1000), flow("a = 2", 1000), flow("a = 1", 1000, publisher="p-2")]
    results = measure_rows(rows, [FlowTable], run=run_of(1))
    assert series_of(results, "flow_table.p-2") == [1]
    assert values_of(results)["flow_table_mean"] == 1.5


def test_a_table_without_rows_gives_zeros_and_a_missing_one_nothing() -> None:
    recorded = measure_rows([], [FlowTable], recorded=["flows"])
    assert values_of(recorded) == {"flow_table_mean": 0, "flow_table_max": 0}
    assert not measure_rows([], [FlowTable]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [FlowTable], run=run_of(2))
    parts = measure_parts([ROWS, []], FlowTable, run=run_of(2))
    assert parts.values == whole.values
    assert pairs_of(parts, "flow_quota_mps") == pairs_of(whole, "flow_quota_mps")
