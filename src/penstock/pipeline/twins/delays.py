"""The twin of `kernels.delays`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.kernels.delays import NOTHING_MS, PAIR_SHARES, SHARES
from penstock.pipeline.twins.frames import NETWORK, PAIR, Frames
from penstock.pipeline.twins.spread import EACH, as_histograms, binned, spread
from penstock.pipeline.twins.steps import as_figures
from penstock.pipeline.wide_table import to_wide

DELAY: Final = "delay"
EXTRA: Final = "extra_delay"


def delays(frames: Frames) -> list[DataFrame]:
    """Delay of everything, extra delay of what an ordering delivered."""
    values = frames.receipts.transform(_with_quantities)
    pairs = frames.once(values.transform(_by_pair))
    bins = frames.once(values.transform(binned))
    return [
        _over_messages(bins),
        _over_pairs(pairs),
        to_wide(pairs.withColumn("metric", sf.concat("quantity", sf.lit("_mean"))), "pairs"),
        bins.transform(as_histograms),
    ]


def _with_quantities(receipts: DataFrame) -> DataFrame:
    """A row for each quantity; one that lacks a time has no such delay."""
    delay = sf.col("ended_ns") - sf.col("published_ns")
    extra = sf.when(sf.col("ordering") != NETWORK, sf.col("ended_ns") - sf.col("arrived_ns"))
    return (
        receipts.select(*PAIR, delay.alias(DELAY), extra.alias(EXTRA))
        .unpivot([*PAIR], [DELAY, EXTRA], "quantity", "value_ns")
        .where(sf.col("value_ns").isNotNull())
    )


def _by_pair(values: DataFrame) -> DataFrame:
    """The mean of each pair, in milliseconds."""
    mean = sf.sum("value_ns") / sf.count("*") / MILLISECOND
    return values.groupBy(*PAIR, "quantity").agg(mean.alias("value"))


def _over_messages(bins: DataFrame) -> DataFrame:
    found = spread(bins, SHARES)
    figures = dict.fromkeys(("mean", "max", *SHARES), "ms")
    return found.transform(as_figures(figures, prefix="quantity")).unionByName(
        found.transform(_only_extra).transform(as_figures({"held_share": ""}))
    )


def _over_pairs(pairs: DataFrame) -> DataFrame:
    quantiles = {f"pairs_{name}": sf.percentile("value", at) for name, at in PAIR_SHARES.items()}
    short = sf.avg((sf.col("value") < NOTHING_MS).cast("int"))
    found = pairs.groupBy(*EACH).agg(
        short.alias("pairs_below_1ms"),
        sf.max("value").alias("pairs_max"),
        *(column.alias(name) for name, column in quantiles.items()),
    )
    figures = dict.fromkeys(("pairs_max", *quantiles), "ms")
    return found.transform(as_figures(figures, prefix="quantity")).unionByName(
        found.transform(_only_extra).transform(as_figures({"pairs_below_1ms": ""}))
    )


def _only_extra(found: DataFrame) -> DataFrame:
    return found.where(sf.col("quantity") == EXTRA)
