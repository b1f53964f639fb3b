"""What the benchmark asks of Spark is answered as without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.pipeline.on_spark import by_frames, by_tasks
from bench.pipeline.queries import QueryResult, by_metrics
from bench.pipeline.traces import make_runs

Query = Callable[[SparkSession, Path, Sequence[str]], tuple[QueryResult, float]]
DELIVERIES = 5_000


@pytest.mark.parametrize("query", [by_tasks, by_frames])
def test_spark_agrees_with_plain_metrics(spark: SparkSession, tmp_path: Path, query: Query) -> None:
    runs = make_runs(tmp_path, 2 * DELIVERIES, per_run=DELIVERIES)
    found, took_s = query(spark, tmp_path, runs)
    assert found.agrees_with(by_metrics(tmp_path, runs))
    assert took_s > 0
