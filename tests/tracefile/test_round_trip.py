"""What is written is read back: every table, every value, by run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.trace.batch import Batch
from penstock.trace.records import Arrival, Expected, Row, Run
from penstock.trace.schema import EVENTS, SCHEMA_VERSION, TABLES, Table
from penstock.tracefile import writer
from penstock.tracefile.arrow import arrow_schema
from penstock.tracefile.reader import TraceReader
from penstock.tracefile.retention import Recording
from tests.trace.strategies import rows_of, traces

RUN = Run(
    experiment="M-3.1",
    profile="quick",
    variant="off",
    seed=7,
    parameters='{"rate": 25}',
    duration_ns=300,
    code_version="0.1",
)


def record(directory: Path | None, rows: list[Row], run: str = "a") -> Run:
    with Recording(run, keep=directory) as recording:
        for row in rows:
            recording.add(row)
        return recording.finish(RUN)


@pytest.mark.parametrize("table", EVENTS, ids=lambda table: table.name)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_every_table_comes_back(table: Table, data: st.DataObject) -> None:
    rows = data.draw(rows_of(table))
    with (
        tempfile.TemporaryDirectory() as name,
        Recording("a", keep=Path(name), tables=[table]) as r,
    ):
        for row in rows:
            r.add(row)
        done = r.finish(RUN)
        reader = TraceReader(Path(name))
        assert list(reader.records(table.record, "a")) == rows
        assert reader.table(table.record, "a").schema == arrow_schema(table)
        assert reader.trace_hash("a") == done.trace_hash
        assert reader.run("a") == done
        assert reader.notes == []


@settings(max_examples=10, deadline=None)
@given(traces())
def test_keeping_changes_no_hash(rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as name:
        kept = record(Path(name), rows)
        assert kept == record(None, rows)
        assert kept.schema_version == SCHEMA_VERSION
        assert TraceReader(Path(name)).trace_hash("a") == kept.trace_hash


def test_row_groups_share_names_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", 10)
    rows: list[Row] = [Expected(f"p{i // 9}", 1, i, f"s{i % 5}", i) for i in range(20_000)]
    done = record(tmp_path, rows)
    reader = TraceReader(tmp_path)
    assert list(reader.records(Expected, "a")) == rows
    assert reader.trace_hash("a") == done.trace_hash
    assert reader.table(Expected, "a").num_rows == len(rows)
    pieces = list(reader.pieces(Expected, "a", rows=1000))
    assert max(piece.num_rows for piece in pieces) <= 1000


def test_runs_are_kept_apart(tmp_path: Path) -> None:
    for run in ("b", "a"):
        record(tmp_path, [Expected(run, 1, 1, "s", 7)], run)
    reader = TraceReader(tmp_path)
    assert reader.run_ids() == ["a", "b"]
    assert [row.publisher for row in reader.records(Expected, "b")] == ["b"]


def test_a_recorded_table_without_rows_is_there_and_one_not_recorded_is_not(tmp_path: Path) -> None:
    with Recording("a", keep=tmp_path, tables=[TABLES["expected"]]) as recording:
        assert not recording.collects(Arrival)
        recording.finish(RUN)
    reader = TraceReader(tmp_path)
    assert reader.table(Expected, "a").num_rows == 0
    assert not reader.has(Arrival, "a")
    with pytest.raises(UsageError, match="did not record arrivals"):
        reader.table(Arrival, "a")


def test_the_life_of_one_message_is_picked_out(tmp_path: Path) -> None:
    rows: list[Row] = [Expected(f"p{i % 3}", 1, i // 3, f"s{i % 2}", 7) for i in range(300)]
    record(tmp_path, rows)
    where: dict[str, str | int] = {"publisher": "p1", "epoch": 1, "seq": 7}
    found = list(TraceReader(tmp_path).records(Expected, "a", where=where))
    assert found == [Expected("p1", 1, 7, "s0", 7)]
    assert TraceReader(tmp_path).table(Expected, "a", where={"seq": 7}).num_rows == 3


def test_an_unknown_run_names_those_there_are(tmp_path: Path) -> None:
    record(tmp_path, [])
    with pytest.raises(UsageError, match=r"no run b in .*; there are: a"):
        list(TraceReader(tmp_path).records(Expected, "b"))


def test_a_place_without_traces_is_said(tmp_path: Path) -> None:
    assert TraceReader(tmp_path).run_ids() == []
    with pytest.raises(UsageError, match="no directory"):
        TraceReader(tmp_path / "absent")


def test_metrics_see_every_batch_kept_or_not(tmp_path: Path) -> None:
    for keep in (None, tmp_path):
        seen: list[Batch] = []
        with Recording("a", keep=keep, metrics=[seen.append]) as recording:
            recording.add(Expected("p", 1, 1, "s", 7))
            recording.finish(RUN)
        assert [batch.rows for batch in seen] == [1]
