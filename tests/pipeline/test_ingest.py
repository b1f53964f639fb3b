"""Good runs are read, bad ones set aside with a reason, and nothing is touched."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from penstock.kernel.errors import UsageError
from penstock.pipeline.ingest import find_runs, read_table
from penstock.pipeline.schemas import SCHEMAS
from penstock.trace.fates import HopDecision
from penstock.trace.records import Arrival, Expected, Hop, Row, Run
from penstock.trace.schema import SCHEMA_VERSION, TABLES
from penstock.tracefile.retention import Recording

RUN = Run(
    experiment="X-1",
    profile="quick",
    variant="off",
    seed=1,
    parameters="{}",
    duration_ns=10**9,
    code_version="0",
)
ROWS = [Expected("p", 0, n, "s", 100 + n) for n in range(3)]
ARRIVALS = [Arrival("s", "p", 0, n, 100 + n, 200 + n, 2, False) for n in range(3)]


def record(directory: Path, run: str, rows: Iterable[Row] = (*ROWS, *ARRIVALS)) -> Path:
    tables = [TABLES["expected"], TABLES["arrivals"], TABLES["hops"]]
    with Recording(run, keep=directory, tables=tables) as recording:
        for row in rows:
            recording.add(row)
        recording.finish(RUN)
    return directory / f"run={run}"


def rewrite(path: Path, change: Any) -> None:
    table = pq.read_table(path, partitioning=None)
    pq.write_table(change(table), path)


def said_of(directory: Path, bad: str = "run=bad") -> str:
    """The reason why one run was set aside, of which there must be just one."""
    intake = find_runs([directory])
    assert [run.id for run in intake.runs] == ["good"]
    assert [Path(entry.path).name for entry in intake.quarantine] == [bad]
    return intake.quarantine[0].reason


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """One good run, and one about to be spoilt."""
    record(tmp_path, "good")
    record(tmp_path, "bad")
    return tmp_path


def test_runs_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    record(tmp_path / "a" / "set=x" / "traces", "one")
    record(tmp_path / "b", "two")
    intake = find_runs([tmp_path, tmp_path / "b", tmp_path / "b" / "run=two"])
    assert [run.id for run in intake.runs] == ["one", "two"]
    assert intake.quarantine == ()
    assert intake.runs[0].row.experiment == "X-1"
    assert intake.runs[0].row.trace_hash == intake.runs[1].row.trace_hash
    assert intake.runs[1].file("arrivals") == tmp_path / "b" / "run=two" / "arrivals.parquet"
    assert intake.runs[1].file("losses") is None


def test_a_run_can_be_named_itself(tmp_path: Path) -> None:
    assert [run.id for run in find_runs([record(tmp_path, "one")]).runs] == ["one"]


def test_a_truncated_file_is_set_aside_and_left_where_it_is(place: Path) -> None:
    path = place / "run=bad" / "arrivals.parquet"
    os.truncate(path, path.stat().st_size // 2)
    assert "arrivals.parquet is damaged or no Parquet file" in said_of(place)
    assert path.exists()


def test_an_empty_file_is_set_aside(place: Path) -> None:
    os.truncate(place / "run=bad" / "hops.parquet", 0)
    assert "hops.parquet is damaged or no Parquet file" in said_of(place)


def test_a_file_of_somebody_else_is_set_aside(place: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), place / "run=bad" / "expected.parquet")
    assert "no trace of ours" in said_of(place)


def test_a_run_without_its_last_table_is_set_aside(place: Path) -> None:
    (place / "run=bad" / "runs.parquet").unlink()
    assert "no runs.parquet" in said_of(place)


def test_a_run_that_says_nothing_of_itself_is_set_aside(place: Path) -> None:
    rewrite(place / "run=bad" / "runs.parquet", lambda table: table.slice(0, 0))
    assert "0 rows instead of 1" in said_of(place)


def test_another_major_version_is_set_aside(place: Path) -> None:
    said = {"penstock.schema": "2.0", "penstock.table": "expected"}
    path = place / "run=bad" / "expected.parquet"
    rewrite(path, lambda table: table.replace_schema_metadata(said))
    assert "schema version 2.0" in said_of(place)


def test_a_table_in_the_file_of_another_is_set_aside(place: Path) -> None:
    bad = place / "run=bad"
    (bad / "expected.parquet").rename(bad / "arrivals.parquet")
    assert "holds expected, not arrivals" in said_of(place)


def test_a_file_of_another_run_is_set_aside(place: Path) -> None:
    (place / "run=good" / "hops.parquet").rename(place / "run=bad" / "hops.parquet")
    assert "is of run good" in said_of(place)


def test_a_required_column_that_is_lacking_is_named(place: Path) -> None:
    path = place / "run=bad" / "expected.parquet"
    rewrite(path, lambda table: table.drop_columns(["seq"]))
    assert "lacks column seq" in said_of(place)


@pytest.mark.parametrize(
    ("kind", "reason"), [(pa.int32(), "type that no trace has"), (pa.string(), "another type")]
)
def test_a_column_of_another_type_is_named(place: Path, kind: Any, reason: str) -> None:
    def change(table: Any) -> Any:
        values = table["seq"].cast(kind) if kind == pa.int32() else pa.array(["x"] * len(table))
        return table.set_column(table.column_names.index("seq"), "seq", values)

    rewrite(place / "run=bad" / "expected.parquet", change)
    assert reason in said_of(place)


def test_an_unfinished_run_is_set_aside(place: Path) -> None:
    (place / "run=bad").rename(place / ".run=bad.unfinished")
    assert "unfinished" in said_of(place, ".run=bad.unfinished")


def test_a_run_whose_name_cannot_be_one_is_set_aside(place: Path) -> None:
    (place / "run=bad").rename(place / "run=7 of 9")
    assert "named by a letter" in said_of(place, "run=7 of 9")


def test_rows_that_were_changed_are_found_when_asked(place: Path) -> None:
    path = place / "run=bad" / "expected.parquet"
    rewrite(path, lambda table: table.slice(1))
    assert len(find_runs([place]).runs) == 2
    intake = find_runs([place], checks_hashes=True)
    assert [run.id for run in intake.runs] == ["good"]
    assert "their hash is another" in intake.quarantine[0].reason


@pytest.mark.parametrize(("rows", "what"), [(ROWS, "the same trace"), (ARRIVALS, "another trace")])
def test_of_a_run_that_is_there_twice_the_first_is_used(
    tmp_path: Path, rows: list[Row], what: str
) -> None:
    record(tmp_path / "a", "one", ROWS)
    record(tmp_path / "b", "one", rows)
    intake = find_runs([tmp_path / "a", tmp_path / "b"])
    assert [run.path for run in intake.runs] == [tmp_path / "a" / "run=one"]
    assert f"is in {tmp_path / 'a'} too, with {what}" in intake.quarantine[0].reason


def test_who_is_strict_gets_an_error(place: Path) -> None:
    os.truncate(place / "run=bad" / "hops.parquet", 0)
    with pytest.raises(UsageError, match=r"run=bad: .*damaged"):
        find_runs([place], is_strict=True)


def test_without_a_good_run_there_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--keep"):
        find_runs([tmp_path])
    (record(tmp_path, "bad") / "runs.parquet").unlink()
    with pytest.raises(UsageError, match=r"no runs\.parquet"):
        find_runs([tmp_path])
    with pytest.raises(UsageError, match="no directory"):
        find_runs([tmp_path / "gone"])


def test_the_quarantine_is_json(place: Path) -> None:
    os.truncate(place / "run=bad" / "hops.parquet", 0)
    listed = json.loads(find_runs([place]).quarantine_json())["quarantine"]
    assert [Path(entry["path"]).name for entry in listed] == ["run=bad"]


def test_what_is_not_known_is_noted(place: Path) -> None:
    path = place / "run=bad" / "expected.parquet"
    rewrite(path, lambda table: table.append_column("colour", pa.array(["red"] * len(table))))
    intake = find_runs([place])
    assert len(intake.runs) == 2
    assert intake.notes == (f"{path} (schema {SCHEMA_VERSION}): ignored column colour",)


def test_a_table_of_several_runs_is_read_with_its_run(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path / "a" / "loss=0.1 [x]", "one")
    record(tmp_path / "b", "two", [Expected("q", 1, 7, "t", 9)])
    rows = read_table(spark, find_runs([tmp_path]).runs, "expected")
    wanted = [("one", "p", 0, n, "s", 100 + n) for n in range(3)] + [("two", "q", 1, 7, "t", 9)]
    assertDataFrameEqual(rows, spark.createDataFrame(wanted, SCHEMAS["expected"]))
    assert [(f.name, f.dataType) for f in rows.schema] == [
        (f.name, f.dataType) for f in SCHEMAS["expected"]
    ]


def test_a_table_that_no_run_recorded_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    record(tmp_path, "one")
    rows = read_table(spark, find_runs([tmp_path]).runs, "losses")
    assert rows.schema == SCHEMAS["losses"]
    assert rows.count() == 0


def test_columns_that_an_older_file_lacks_take_their_defaults(
    spark: SparkSession, tmp_path: Path
) -> None:
    hop = Hop(10, "B1", "p", 1, 5, HopDecision.FORWARDED, "B2", None, 1, 0, 77)
    record(tmp_path, "new", [hop])
    old = record(tmp_path, "old", [hop]) / "hops.parquet"
    rewrite(old, lambda table: table.drop_columns(["packet_counter", "reason"]))
    rows = read_table(spark, find_runs([tmp_path]).runs, "hops")
    assert {row.run: row.packet_counter for row in rows.collect()} == {"new": 77, "old": None}


def test_the_quarantine_is_a_table(spark: SparkSession, place: Path) -> None:
    os.truncate(place / "run=bad" / "hops.parquet", 0)
    (row,) = find_runs([place]).quarantine_table(spark).collect()
    assert row.path == str(place / "run=bad")
    assert "damaged" in row.reason


def with_value(column: str, value: Any) -> Any:
    def change(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index(column)
        return table.set_column(at, column, pa.array([value], table.schema.field(column).type))

    return change


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("duration_ns", -1, "lasted -1 ns"),
        ("duration_ns", 2**62, "which no run does"),
        ("parameters", "[1]", "no JSON object"),
        ("parameters", "{", "no JSON object"),
    ],
)
def test_a_run_that_makes_no_sense_is_set_aside(
    tmp_path: Path, column: str, value: Any, reason: str
) -> None:
    record(tmp_path, "good")
    bad = record(tmp_path, "bad")
    rewrite(bad / "runs.parquet", with_value(column, value))
    assert reason in said_of(tmp_path)


def test_a_run_with_a_column_twice_is_set_aside(tmp_path: Path) -> None:
    record(tmp_path, "good")
    bad = record(tmp_path, "bad")
    rewrite(
        bad / "arrivals.parquet",
        lambda table: table.append_column("seq", table["seq"]),
    )
    assert "run it again" in said_of(tmp_path)


def test_bytes_that_are_no_text_are_set_aside(tmp_path: Path) -> None:
    record(tmp_path, "good")
    bad = record(tmp_path, "bad")
    rewrite(
        bad / "runs.parquet",
        lambda table: table.replace_schema_metadata({b"penstock.schema": b"\xff\xfe"}),
    )
    assert "run it again" in said_of(tmp_path)
