"""The twin of `kernels.delays`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.kernels.delays import NOTHING_MS, PAIR_SHARES, SHARES
from penstock.pipeline.kernels.histogram import BIN_MS, BIN_NS
from penstock.pipeline.twins.frames import NETWORK, ORDERING, PAIR, Frames, whole
from penstock.pipeline.twins.steps import as_figures
from penstock.pipeline.wide import widened

DELAY: Final = "delay"
EXTRA: Final = "extra_delay"
# Both are computed at once, told apart by this column.
_EACH: Final = (*ORDERING, "quantity")


def delays(frames: Frames) -> list[DataFrame]:
    """Delay of everything, extra delay of what an ordering delivered."""
    values = frames.receipts.transform(_with_quantities)
    pairs = frames.once(values.transform(_by_pair))
    bins = frames.once(values.transform(_histogram))
    return [
        _over_messages(pairs, bins),
        _over_pairs(pairs),
        widened(pairs.withColumn("metric", sf.concat("quantity", sf.lit("_mean"))), "pairs"),
        widened(bins.withColumnRenamed("quantity", "metric"), "histograms"),
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
    """The mean of each pair, in milliseconds, and what those of all messages are made of."""
    return values.groupBy(*PAIR, "quantity").agg(
        sf.sum("value_ns").alias("sum_ns"),
        sf.count("*").alias("messages"),
        sf.max("value_ns").alias("max_ns"),
        sf.sum((sf.col("value_ns") > 0).cast("long")).alias("held"),
        (sf.sum("value_ns") / sf.count("*") / MILLISECOND).alias("value"),
    )


def _histogram(values: DataFrame) -> DataFrame:
    """How many fall into each bin."""
    bins = values.withColumn("bin", whole(sf.col("value_ns"), BIN_NS))
    return bins.groupBy(*_EACH, "bin").agg(sf.count("*").alias("count"))


def _over_messages(pairs: DataFrame, bins: DataFrame) -> DataFrame:
    messages = sf.sum("messages")
    exact = pairs.groupBy(*_EACH).agg(
        (sf.sum("sum_ns") / messages / MILLISECOND).alias("mean"),
        (sf.max("max_ns") / MILLISECOND).alias("max"),
        (sf.sum("held") / messages).alias("held"),
    )
    found = exact.join(bins.transform(_quantiles), [*_EACH])
    bounded = found.withColumns({share: sf.least(share, "max") for share in SHARES})
    figures = dict.fromkeys(("mean", "max", *SHARES), "ms")
    return bounded.transform(as_figures(figures, prefix="quantity")).unionByName(
        found.transform(_only_extra).withColumnRenamed("held", "held_share")
        .transform(as_figures({"held_share": ""}))
    )  # fmt: skip


def _quantiles(bins: DataFrame) -> DataFrame:
    """A column for each share, read from the bins as `quantile_ms` does."""
    by_bin = Window.partitionBy(*_EACH).orderBy("bin")
    everything = Window.partitionBy(*_EACH)
    ranked = bins.select(
        *_EACH,
        ((sf.col("bin") + 0.5) * BIN_MS).alias("middle_ms"),
        sf.sum("count").over(by_bin).alias("below"),
        sf.sum("count").over(everything).alias("all"),
    )
    quantiles = [_quantile(at).alias(name) for name, at in SHARES.items()]
    return ranked.groupBy(*_EACH).agg(*quantiles)


def _quantile(at: float) -> Column:
    rank = (sf.col("all") - 1) * at
    first = sf.floor(rank)
    low = _at_rank(first)
    high = _at_rank(sf.least(first + 1, sf.col("all") - 1))
    return low + (high - low) * sf.max(rank - first)


def _at_rank(rank: Column) -> Column:
    return sf.min(sf.when(sf.col("below") > rank, sf.col("middle_ms")))


def _over_pairs(pairs: DataFrame) -> DataFrame:
    quantiles = {f"pairs_{name}": sf.percentile("value", at) for name, at in PAIR_SHARES.items()}
    short = sf.avg((sf.col("value") < NOTHING_MS).cast("int"))
    found = pairs.groupBy(*_EACH).agg(
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
