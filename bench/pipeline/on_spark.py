"""The same questions answered on Spark: by a task for each run, and by DataFrame steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from bench.pipeline.queries import METRICS, SHARES, QueryResult, query_result, result_from_wide
from penstock.kernel.instant import SECOND
from penstock.pipeline.frames.delays import delays
from penstock.pipeline.frames.false_negatives import false_negatives
from penstock.pipeline.frames.order import violations
from penstock.pipeline.frames.tables import STREAM, receipts
from penstock.pipeline.ingest import FoundRun, find_runs, read_table
from penstock.pipeline.jobs import PipelineJob, findings


def by_tasks(
    spark: SparkSession, directory: Path, runs: Sequence[str]
) -> tuple[QueryResult, float]:
    """As a job does, without writing tables; also says how many seconds it took."""
    job = PipelineJob(runs=_found(directory, runs), out=directory, metrics=METRICS)
    began = perf_counter()
    found = findings(spark, job).toArrow()
    took_s = perf_counter() - began
    return result_from_wide(found.to_pylist()), took_s


def by_frames(
    spark: SparkSession, directory: Path, runs: Sequence[str]
) -> tuple[QueryResult, float]:
    """With the steps that the pipeline offers, and two more for what they leave out."""
    found = _found(directory, runs)
    began = perf_counter()
    received = receipts(spark, found)
    expected = read_table(spark, found, "expected")
    streams = received.groupBy(*STREAM).agg(
        sf.count("*").alias("count"), sf.sum(sf.expr("ended_ns - arrived_ns")).alias("extra_ns")
    )
    second = sf.expr(f"ended_ns div {SECOND}")
    result = query_result(
        streams=_rows(streams),
        violations=_rows(violations(received).withColumnRenamed("violations", "late")),
        seconds=_rows(received.groupBy("run", second).agg(sf.count("*").alias("count"))),
        delays=_rows(delays(received).withColumnsRenamed({f"delay_{n}": n for n in SHARES})),
        missed=_rows(
            false_negatives(expected, received).withColumnRenamed("false_negatives", "len")
        ),
    )
    return result, perf_counter() - began


def _found(directory: Path, runs: Sequence[str]) -> list[FoundRun]:
    return [run for run in find_runs([directory]).runs if run.id in {*runs}]


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows
