"""Steps that twins share: from durations to histograms, means and quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.histogram import BIN_MS, BIN_NS
from penstock.pipeline.twins.frames import ORDERING, whole
from penstock.pipeline.twins.steps import Step, as_figures
from penstock.pipeline.wide_table import to_wide

# Several quantities are computed at once, told apart by this column.
EACH: Final = (*ORDERING, "quantity")


def binned(values: DataFrame) -> DataFrame:
    """How many of `value_ns` fall into each bin, and what means and maxima are made of."""
    bins = values.withColumn("bin", whole(sf.col("value_ns"), BIN_NS))
    return bins.groupBy(*EACH, "bin").agg(
        sf.count("*").alias("count"),
        sf.sum("value_ns").alias("sum_ns"),
        sf.max("value_ns").alias("max_ns"),
        sf.count_if(sf.col("value_ns") > 0).alias("held"),
    )


def as_histograms(bins: DataFrame) -> DataFrame:
    """The bins themselves."""
    return to_wide(bins.withColumnRenamed("quantity", "metric"), "histograms")


def as_spread(shares: Mapping[str, float]) -> Step:
    """Figures of each quantity: mean, maximum, and a quantile for each share."""

    def step(bins: DataFrame) -> DataFrame:
        figures = dict.fromkeys(("mean", "max", *shares), "ms")
        return spread(bins, shares).transform(as_figures(figures, prefix="quantity"))

    return step


def spread(bins: DataFrame, shares: Mapping[str, float]) -> DataFrame:
    """The same as columns, with `held_share`; quantiles are read as `quantile_ms` does."""
    by_bin = Window.partitionBy(*EACH).orderBy("bin")
    ranked = bins.withColumns(
        {
            "middle_ms": (sf.col("bin") + 0.5) * BIN_MS,
            "below": sf.sum("count").over(by_bin),
            "all": sf.sum("count").over(Window.partitionBy(*EACH)),
        }
    )
    most = sf.max("max_ns") / MILLISECOND
    return ranked.groupBy(*EACH).agg(
        (sf.sum("sum_ns") / sf.sum("count") / MILLISECOND).alias("mean"),
        most.alias("max"),
        (sf.sum("held") / sf.sum("count")).alias("held_share"),
        *(sf.least(_quantile(at), most).alias(name) for name, at in shares.items()),
    )


def _quantile(at: float) -> Column:
    rank = (sf.col("all") - 1) * at
    first = sf.floor(rank)
    low = _at_rank(first)
    high = _at_rank(sf.least(first + 1, sf.col("all") - 1))
    return low + (high - low) * sf.max(rank - first)


def _at_rank(rank: Column) -> Column:
    return sf.min(sf.when(sf.col("below") > rank, sf.col("middle_ms")))
