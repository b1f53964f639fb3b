"""The twin of `kernels.receivers`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.receivers import RECEIVERS_MAX
from penstock.pipeline.twins.frames import Frames, whole
from penstock.pipeline.twins.steps import as_named_seconds, with_ordering
from penstock.pipeline.wide_table import to_wide

_PAIR: Final = ("run", "subscriber", "publisher")
# What is told, of which table, by which column.
_SERIES: Final = {
    "received.": ("arrivals", "arrived_ns"),
    "wanted.": ("expected", "published_ns"),
}


def receivers(frames: Frames) -> list[DataFrame]:
    """Rates of pairs, and of few receivers what came of what was sent."""
    every = frames.table("expected").select("run", "subscriber").union(
        frames.table("arrivals").select("run", "subscriber")
    )  # fmt: skip
    few = every.groupBy("run").agg(sf.countDistinct("subscriber").alias("receivers"))
    few = few.where(sf.col("receivers") <= RECEIVERS_MAX).select("run")
    shown = frames.once(every.distinct().join(few, "run", "left_semi"))
    return [
        _rates(frames),
        *(_series(frames, shown, prefix, *place) for prefix, place in _SERIES.items()),
    ]


def _series(
    frames: Frames, shown: DataFrame, prefix: str, table: str, at_ns: str
) -> DataFrame:  # fmt: skip
    """Of all who are shown, also of those to whom nothing came."""
    known = shown.where(sf.col("run").isin(frames.recorded(table)))
    rows = frames.table(table).select("run", "subscriber", at_ns)
    rows = rows.join(known.select("run").distinct(), "run", "left_semi")
    return as_named_seconds(frames, rows, prefix, "subscriber", at_ns, also=known)


def _rates(frames: Frames) -> DataFrame:
    told = frames.recorded("arrivals")
    second = whole(sf.col("arrived_ns") - sf.col("origin_ns"), SECOND)
    arrivals = frames.table("arrivals").join(sf.broadcast(frames.facts), "run")
    inside = sf.when((second >= 0) & (second < sf.col("seconds")), 1).otherwise(0)
    came = arrivals.select(*_PAIR, inside.alias("came"))
    wanted = frames.table("expected").select(*_PAIR, sf.lit(0).alias("came"))
    return (
        came.union(wanted)
        .where(sf.col("run").isin(told))
        .groupBy(*_PAIR)
        .agg(sf.sum("came").alias("came"))
        .join(sf.broadcast(frames.facts), "run")
        .where(sf.col("duration_ns") > 0)
        .withColumn("value", sf.col("came") * SECOND / sf.col("duration_ns"))
        .withColumn("metric", sf.lit("received_mps"))
        .transform(with_ordering)
        .transform(lambda rows: to_wide(rows, "pairs"))
    )
