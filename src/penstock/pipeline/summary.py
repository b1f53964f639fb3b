"""Summarises figures over seeds: the mean, and the half-width of its 95 % interval.

The interval is Student's t, as in results of the lab, because there are few seeds.
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

# Runs that agree in these columns differ only in their seed.
_GROUP_COLUMNS: Final = ("experiment", "profile", "variant", "parameters")
_QUANTILE: Final = 0.975


def summary(spark: SparkSession, runs: Sequence[FoundRun], figures: DataFrame) -> DataFrame:
    """One row per metric and group of runs that differ only in their seed."""
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
    """The factor from the standard deviation of `seeds` values to the half-width."""
    return float(scipy.special.stdtrit(seeds - 1, _QUANTILE)) / sqrt(seeds)


def _kinds(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    columns = {name: [getattr(run.row, name) for run in runs] for name in _GROUP_COLUMNS}
    return spark.createDataFrame(
        pa.table({"run": pa.array([run.id for run in runs], pa.string()), **columns})
    )


def _widths(spark: SparkSession, most: int) -> DataFrame:
    """The half-width factors from 2 seeds on; with one seed there is no interval."""
    seeds = list(range(2, max(most, 2) + 1))
    factors = [half_width_factor(count) for count in seeds]
    return sf.broadcast(
        spark.createDataFrame(
            pa.table({"seeds": pa.array(seeds, pa.int64()), "width": pa.array(factors)})
        )
    )
