"""The twin of `kernels.caches`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.twins.frames import Frames, whole
from penstock.pipeline.twins.steps import as_figures, with_ordering
from penstock.pipeline.wide_table import to_wide

_NAMES: Final = tuple(f"cache_limit_{name}" for name in ("min", "mean", "max"))


def caches(frames: Frames) -> list[DataFrame]:
    """The least, the mean and the largest limit: of runs, and of seconds that have a sample."""
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    second = whole(since - 1, SECOND)
    limit = sf.col("limit_messages")
    by_second = frames.once(
        frames.table("caches")
        .join(sf.broadcast(frames.facts), "run")
        .where((since > 0) & (sf.col("node") != sf.col("publisher")))
        .groupBy("run", sf.when(second < sf.col("seconds"), second).alias("second"))
        .agg(
            sf.min(limit).alias("least"),
            sf.max(limit).alias("most"),
            sf.sum(limit).alias("total"),
            sf.count("*").alias("samples"),
        )
    )
    return [
        _limits(by_second, "run")
        .withColumn("cache_limit_share", sf.try_divide("cache_limit_mean", "cache_limit_max"))
        .transform(as_figures(dict.fromkeys(_NAMES, "messages") | {"cache_limit_share": ""})),
        _limits(by_second.where(sf.col("second").isNotNull()), "run", "second")
        .unpivot(["run", "second"], list(_NAMES), "metric", "value")
        .transform(with_ordering)
        .transform(lambda rows: to_wide(rows, "seconds")),
    ]


def _limits(parts: DataFrame, *keys: str) -> DataFrame:
    values = (sf.min("least"), sf.sum("total") / sf.sum("samples"), sf.max("most"))
    columns = [v.cast("double").alias(n) for n, v in zip(_NAMES, values, strict=True)]
    return parts.groupBy(*keys).agg(*columns)
