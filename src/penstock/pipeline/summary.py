"""Figures over seeds: the mean, and the half-width of its 95 % interval.

Student's, as in results of experiments: seeds are few, and their spread is itself
an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import scipy
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.pipeline.gold import SUMMARY
from penstock.pipeline.ingest import FoundRun

# What runs must have in common to differ in their seed alone.
_GROUP_COLUMNS: Final = ("experiment", "profile", "variant", "parameters")
_QUANTILE: Final = 0.975


def summary(spark: SparkSession, runs: Sequence[FoundRun], figures: DataFrame) -> DataFrame:
    """One row for each metric of what differs in its seed alone."""
    grouped = figures.join(_kinds(spark, runs), "run").groupBy(
        *_GROUP_COLUMNS, "ordering", "metric", "unit"
    )
    found = grouped.agg(
        sf.count("*").alias("seeds"),
        sf.avg("value").alias("mean"),
        sf.stddev_samp("value").alias("spread"),
    )
    return (
        found.join(_widths(spark, len(runs)), "seeds", "left")
        .withColumn("ci95", sf.col("width") * sf.col("spread"))
        .select(*SUMMARY.names)
    )


def half_width_factor(seeds: int) -> float:
    """What the standard deviation of so many values is multiplied by."""
    return float(scipy.special.stdtrit(seeds - 1, _QUANTILE)) / sqrt(seeds)


def _kinds(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    columns = {name: [getattr(run.row, name) for run in runs] for name in _GROUP_COLUMNS}
    return spark.createDataFrame(
        pa.table({"run": pa.array([run.id for run in runs], pa.string()), **columns})
    )


def _widths(spark: SparkSession, most: int) -> DataFrame:
    """Of one seed there is none."""
    seeds = list(range(2, max(most, 2) + 1))
    factors = [half_width_factor(count) for count in seeds]
    return sf.broadcast(
        spark.createDataFrame(
            pa.table({"seeds": pa.array(seeds, pa.int64()), "width": pa.array(factors)})
        )
    )
