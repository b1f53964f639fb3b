"""Metrics on Spark, whole or in parts, and DataFrame steps find what plain Python finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.pipeline.frames.delays import SHARES, delay_histogram, delays
from penstock.pipeline.frames.false_negatives import false_negatives
from penstock.pipeline.frames.order import violations
from penstock.pipeline.frames.tables import receipts
from penstock.pipeline.ingest import FoundRun, find_runs, read_table, trace_views
from penstock.pipeline.jobs import PipelineJob, findings
from penstock.trace.records import Arrival
from penstock.trace.schema import TABLES
from tests.metrics.brute import brute_force
from tests.metrics.brute.compare import assert_same
from tests.metrics.brute.run import BruteRun, Key, quantile
from tests.metrics.brute.traces import Trace, random_trace, trace

# All in one Spark job: a job costs seconds, a trace next to nothing.
TRACES = 24

# What Spark does for the sake of many rows takes longest when there are few: Java made of a
# plan, plans made anew in the middle, and tasks, each of which is sent all of the plan.
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "1024",
}


@pytest.fixture(autouse=True)
def _few_rows(spark: SparkSession) -> Iterator[None]:
    with settings(spark, FOR_FEW_ROWS):
        yield


@contextmanager
def settings(spark: SparkSession, chosen: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in chosen}
    for key, value in chosen.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    """Also one that recorded nothing."""
    drawn = {f"random.{seed}": random_trace(seed) for seed in range(TRACES - 1)}
    return {**drawn, "empty": trace()}


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, traces: dict[str, Trace]
) -> tuple[FoundRun, ...]:
    place = tmp_path_factory.mktemp("traces")
    for number, (name, subject) in enumerate(traces.items()):
        # Several directories, as runs of several experiments lie.
        subject.write(place / f"part-{number % 2}", name)
    return find_runs([place]).runs


@pytest.fixture(scope="module")
def brute(traces: dict[str, Trace]) -> dict[Key, float]:
    """What plain Python finds in all traces, with the run in place of the entity."""
    return {
        _in_gold(key, run): value
        for run, subject in traces.items()
        for key, value in brute_force(subject).items()
        # Curves are for one report, and have no gold table.
        if key.kind != "curve"
    }


@pytest.mark.parametrize("parts", [None, 3])
def test_a_job_finds_what_plain_python_finds(
    spark: SparkSession,
    runs: tuple[FoundRun, ...],
    brute: dict[Key, float],
    tmp_path: Path,
    parts: int | None,
) -> None:
    job = PipelineJob(runs=runs, out=tmp_path / "gold", parts=parts)
    assert_same(keyed_rows(row.asDict() for row in findings(spark, job).collect()), brute)


def _in_gold(key: Key, run: str) -> Key:
    """Gold tables have flat names; of pairs, both names are columns of their own."""
    named = key.kind != "pair" and key.entity
    flat = ".".join(part for part in (key.metric, named, key.phase) if part)
    at = f"{key.entity} {key.at}" if key.kind == "pair" else key.at
    return Key(key.kind, flat, key.ordering, run, at=at)


def keyed_rows(rows: Iterable[dict[str, Any]]) -> dict[Key, float]:
    """Rows of the wide table in the same form."""
    found: dict[Key, float] = {}
    for row in rows:
        kind, value = _KINDS[row["table"]], row["value"]
        at: Any = ""
        if kind == "pair":
            at = f"{row['subscriber']} {row['publisher']}"
        elif kind == "series":
            at = row["second"]
        elif kind == "histogram":
            at, value = row["bin"], row["count"]
        key = Key(kind, row["metric"], row["ordering"], row["run"], at=at)
        assert key not in found, key
        found[key] = value
    return found


_KINDS = {"figures": "value", "pairs": "pair", "seconds": "series", "histograms": "histogram"}


def check(found: DataFrame, expected: dict[tuple[str, str], dict[str, float]]) -> None:
    """Columns by run and ordering."""
    columns = [name for name in found.columns if name not in {"run", "ordering"}]
    assert_same(
        {
            Key("value", name, row["ordering"], row["run"]): row[name]
            for row in found.collect()
            for name in columns
        },
        {
            Key("value", name, ordering, run): value
            for (run, ordering), values in expected.items()
            for name, value in values.items()
        },
    )


@pytest.fixture(scope="module")
def received(traces: dict[str, Trace]) -> dict[tuple[str, str], list[int]]:
    """Delays by run and ordering, of those that received anything."""
    return {
        (run, ordering): [r.ended - r.published for r in own]
        for run, subject in traces.items()
        for ordering, own in BruteRun(subject).receipts.items()
        if own
    }


def _values(brute: dict[Key, float], where: tuple[str, str], **names: str) -> dict[str, float]:
    """Columns of a step with the metric of plain Python that each must equal."""
    run, ordering = where
    return {
        column: brute[Key("value", metric, "" if metric == "expected" else ordering, run)]
        for column, metric in names.items()
    }


def test_window_functions_count_violations(
    spark: SparkSession,
    runs: tuple[FoundRun, ...],
    brute: dict[Key, float],
    received: dict[tuple[str, str], list[int]],
) -> None:
    same = {name: name for name in ("violations", "violation_ratio", "descents")}
    expected = {where: _values(brute, where, rows="deliveries", **same) for where in received}
    check(violations(receipts(spark, runs)), expected)


def test_a_join_counts_false_negatives(
    spark: SparkSession,
    runs: tuple[FoundRun, ...],
    brute: dict[Key, float],
    received: dict[tuple[str, str], list[int]],
) -> None:
    names = {name: name for name in ("expected", "false_negatives", "false_negative_ratio")}
    expected = {
        where: _values(brute, where, **names)
        for where in received
        if brute.get(Key("value", "expected", "", where[0]))
    }
    due = read_table(spark, runs, "expected")
    check(false_negatives(due, receipts(spark, runs)), expected)


def test_percentiles_of_delays_are_exact(
    spark: SparkSession, runs: tuple[FoundRun, ...], received: dict[tuple[str, str], list[int]]
) -> None:
    expected: dict[tuple[str, str], dict[str, float]] = {}
    for where, values_ns in received.items():
        values = [value / 1e6 for value in values_ns]
        expected[where] = {"delay_mean": sum(values) / len(values), "delay_max": max(values)}
        for label, share in SHARES.items():
            expected[where][f"delay_{label}"] = quantile(values, share)
    check(delays(receipts(spark, runs)), expected)


def test_histograms_of_delays_have_the_bins_of_plain_python(
    spark: SparkSession, runs: tuple[FoundRun, ...], brute: dict[Key, float]
) -> None:
    found = delay_histogram(receipts(spark, runs)).collect()
    assert_same(
        {
            Key("histogram", "delay", row["ordering"], row["run"], at=row["bin"]): row["count"]
            for row in found
        },
        {key: n for key, n in brute.items() if key[:2] == ("histogram", "delay")},
    )


def test_every_trace_table_is_a_view(
    spark: SparkSession, runs: tuple[FoundRun, ...], traces: dict[str, Trace]
) -> None:
    # To open a file takes Spark longer than to read it.
    few = runs[:3]
    assert trace_views(spark, few) == list(TABLES)
    for name, table in TABLES.items():
        assert spark.table(name).columns == ["run", *(column.name for column in table.columns)]
    counted = spark.sql(
        "SELECT run, experiment, count(*) AS rows FROM arrivals JOIN runs USING (run) GROUP BY ALL"
    )
    arrivals = {run.id: len(traces[run.id].rows(Arrival)) for run in few}
    assert {(row["run"], row["experiment"], row["rows"]) for row in counted.collect()} == {
        (run, "random", count) for run, count in arrivals.items() if count
    }
