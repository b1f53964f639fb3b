"""What is timed is what it is said to be, and comes out right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import BENCHES, metrics
from bench.metrics import FILE_METRICS, GATHERED, LAB_METRICS, Sizes
from bench.metrics.lab import _records, lab_cost
from bench.metrics.part_case import run_part
from bench.metrics.recorded import read_tables, same_results
from bench.pipeline.traces import cut, make_runs, make_tables
from bench.sizes import MILLIONS_VARIABLE
from penstock.metrics.catalogue import METRICS, find_metrics
from penstock.metrics.gather import GATHER_ROWS
from penstock.trace.batch import Batch, Packer
from penstock.trace.records import Arrival, Delivery
from penstock.tracefile.measure import Part, measure, merge_parts

DELIVERIES = 5_000
SIZES = Sizes(
    lab_messages=DELIVERIES,
    lab_rounds=1,
    recorded=(DELIVERIES,),
    recorded_rounds=1,
    task_runs=2,
    task_deliveries=DELIVERIES,
    kept=(70_000, 140_000),
)


def test_every_goal_is_of_something_measured() -> None:
    result = metrics.run(lambda _line: None, SIZES)
    assert {*result.ratio_goals} <= {*result.ratios}
    assert len(result.ratio_goals) == 5
    assert sum(bool(case.goal) for case in result.cases) == 3
    assert all(case.value >= 0 for case in result.cases)
    assert "metrics" in BENCHES
    assert {*LAB_METRICS, *FILE_METRICS} <= {*METRICS}
    assert GATHER_ROWS in GATHERED


def test_a_recorded_run_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MILLIONS_VARIABLE, "1,100")
    notes: list[str] = []
    assert [*metrics._chosen_sizes(notes).recorded] == [1_000_000]
    assert notes == ["runs of more than 20 million were left out"]


# The lab ----------------------------------------------------------------------------------------


def test_every_message_arrives_and_is_delivered() -> None:
    tables = make_tables(0, DELIVERIES)
    arrivals, deliveries = (
        [row for rows in _records([tables[name]]) for row in rows]
        for name in ("arrivals", "deliveries")
    )
    assert len(arrivals) == len(deliveries) >= DELIVERIES
    came = {
        (row.subscriber, row.publisher, row.seq, row.arrived_ns)
        for row in arrivals
        if isinstance(row, Arrival)
    }
    assert came == {
        (row.subscriber, row.publisher, row.seq, row.arrived_ns)
        for row in deliveries
        if isinstance(row, Delivery)
    }


@pytest.mark.parametrize("name", ["publications", "expected", "arrivals", "deliveries"])
def test_records_are_the_rows_of_their_table(name: str) -> None:
    batch = make_tables(0, DELIVERIES)[name]
    packed = Packer(batch.table).pack([row for rows in _records([batch]) for row in rows])
    assert packed.rows == batch.rows
    for column in batch.columns:
        assert values_of(packed, column) == values_of(batch, column)


def values_of(batch: Batch, column: str) -> list[Any]:
    packed = batch.columns[column]
    values = packed.values.tolist()
    if packed.names is not None:
        return [packed.names[code] for code in values]
    present = batch.present(column).tolist()
    return [value if has else None for value, has in zip(values, present, strict=True)]


def test_recording_and_metrics_are_told_apart() -> None:
    tables = make_tables(0, DELIVERIES)
    fed = [tables[name] for name in ("arrivals", "deliveries")]
    without = lab_cost(fed, [])
    cost = lab_cost(fed, [*find_metrics(LAB_METRICS).values()])
    assert without.metrics_ns < cost.metrics_ns
    assert cost.recording_ns > 0


# A recorded run ---------------------------------------------------------------------------------


def test_all_rows_are_read(tmp_path: Path) -> None:
    (run_id,) = make_runs(tmp_path, DELIVERIES, per_run=DELIVERIES)
    tables = make_tables(0, DELIVERIES)
    rows = sum(tables[name].rows for name in ("expected", "deliveries"))
    fifo_order, received = (find_metrics([name])[name] for name in ("fifo_order", "received"))
    assert read_tables(tmp_path, run_id, [fifo_order]) == tables["deliveries"].rows
    assert read_tables(tmp_path, run_id, [received]) >= rows


def test_parts_in_processes_of_their_own_make_the_whole(tmp_path: Path) -> None:
    (run_id,) = make_runs(tmp_path, DELIVERIES, per_run=DELIVERIES)
    costs = [run_part(tmp_path, run_id, LAB_METRICS, Part(number, 2)) for number in range(2)]
    chosen = [*find_metrics(LAB_METRICS).values()]
    whole = measure(tmp_path, run_id, chosen)
    assert same_results(
        merge_parts(tmp_path, run_id, chosen, [cost.tallies for cost in costs]), whole
    )
    assert not same_results(merge_parts(tmp_path, run_id, chosen, [costs[0].tallies]), whole)
    assert all(cost.cpu_s > 0 for cost in costs)


def test_some_rows_of_a_batch_are_cut_out() -> None:
    batch = make_tables(0, DELIVERIES)["deliveries"]
    some = cut(batch, batch.rows - 2, batch.rows + 5)
    assert some.rows == 2
    assert some.integers("seq").tolist() == batch.integers("seq")[-2:].tolist()
