"""Delays from publication to receipt: what `metrics/delivery/delays` reports of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.histogram import BIN_NS

SHARES: Final[Mapping[str, float]] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_DELAY_NS: Final = "ended_ns - published_ns"


def delays(receipts: DataFrame) -> DataFrame:
    """Mean, maximum and exact percentiles in ms, of each run and ordering."""
    table = (
        receipts.withColumn("delay_ms", sf.expr(_DELAY_NS) / MILLISECOND)
        .groupBy("run", "ordering")
        .agg(
            sf.avg("delay_ms").alias("delay_mean"),
            sf.max("delay_ms").alias("delay_max"),
            # All in one call: Spark keeps a map of values for each call, and it is the cost.
            sf.percentile("delay_ms", list(SHARES.values())).alias("quantiles"),
        )
    )
    quantiles = {f"delay_{name}": sf.get("quantiles", sf.lit(i)) for i, name in enumerate(SHARES)}
    return table.withColumns(quantiles).drop("quantiles")


def delay_histogram(receipts: DataFrame) -> DataFrame:
    """How many delays fall into each bin of 0.1 ms, of each run and ordering."""
    bins = receipts.withColumn("bin", _whole(sf.expr(_DELAY_NS), BIN_NS))
    return bins.groupBy("run", "ordering", "bin").agg(sf.count("*").alias("count"))


def _whole(column: Column, size: int) -> Column:
    """How many whole `size`s, rounded down as numpy does, and exact where a double is not."""
    step = sf.lit(size).cast("long")
    return sf.call_function("div", column - sf.pmod(column, step), step)
