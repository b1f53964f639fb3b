"""Kernels on Spark, DataFrame steps and plain Python find the same in the same traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.pipeline.ingest import find_runs
from penstock.pipeline.jobs import Form, PipelineJob, findings
from penstock.pipeline.kernels import METRICS
from penstock.pipeline.twins import TWINS
from tests.pipeline.kernels.brute import Key, brute_force, keyed
from tests.pipeline.kernels.traces import Trace, random_trace

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
    draw = Random(20)
    return {f"random.{number}": random_trace(draw, number) for number in range(TRACES)}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, traces: dict[str, Trace]) -> Path:
    place = tmp_path_factory.mktemp("traces")
    for number, (name, trace) in enumerate(traces.items()):
        # Several directories, as runs of several experiments lie.
        trace.write(place / f"part-{number % 2}", name)
    return place


def by_run(found: DataFrame) -> dict[str, dict[Key, float]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found.collect():
        rows[row["run"]].append(row.asDict())
    return {run: keyed(own) for run, own in rows.items()}


def check(spark: SparkSession, directory: Path, traces: dict[str, Trace], form: Form) -> None:
    job = PipelineJob(runs=find_runs([directory]).runs, out=directory / "gold", form=form)
    found = by_run(findings(spark, job))
    for name, trace in traces.items():
        assert found.get(name, {}) == pytest.approx(brute_force(trace)), name


def test_kernels_on_spark_find_what_plain_python_finds(
    spark: SparkSession, directory: Path, traces: dict[str, Trace]
) -> None:
    check(spark, directory, traces, "kernel")


def test_twins_find_what_plain_python_finds(
    spark: SparkSession, directory: Path, traces: dict[str, Trace]
) -> None:
    with settings(spark, FOR_FEW_ROWS):
        check(spark, directory, traces, "dataframe")


@pytest.mark.soak
def test_twins_find_the_same_the_way_large_runs_are_read(
    spark: SparkSession, directory: Path, traces: dict[str, Trace]
) -> None:
    check(spark, directory, traces, "dataframe")


def test_every_kernel_has_a_twin() -> None:
    assert list(TWINS) == list(METRICS)
