"""The twin of `kernels.drops`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.kernels.drops import LOSSES
from penstock.pipeline.twins.frames import NETWORK, Frames
from penstock.pipeline.twins.steps import (
    as_figures,
    as_named_seconds,
    events,
    every_second,
    nothing,
    tallied,
)
from penstock.trace.fates import DropReason


def drops(frames: Frames) -> list[DataFrame]:
    """One figure for each reason, 0 where it never was; messages by second."""
    dropped = frames.table("drops")
    lost = dropped.where(sf.col("publisher").isNotNull() & sf.col("reason").isin([*LOSSES]))
    told = nothing(frames, {"lost": [(run, NETWORK) for run in frames.recorded("drops")]})
    return [
        _figures(frames, dropped, "drops", [*DropReason]),
        _figures(frames, lost, "lost", [*LOSSES]),
        _total(frames, lost),
        every_second(frames, tallied(frames, [told, events(lost, "lost", "dropped_ns")])),
        as_named_seconds(frames, lost, "lost.", "reason", "dropped_ns"),
    ]


def _total(frames: Frames, lost: DataFrame) -> DataFrame:
    counts = lost.groupBy("run").agg(sf.count("*").alias("lost"))
    return (
        frames.small(run=frames.recorded("drops"))
        .join(counts, "run", "left")
        .fillna(0, ["lost"])
        .transform(as_figures({"lost": "packets"}))
    )


def _figures(
    frames: Frames, rows: DataFrame, prefix: str, reasons: list[DropReason]
) -> DataFrame:  # fmt: skip
    # A dot in a column's name would need quoting.
    counts = [sf.count_if(sf.col("reason") == reason.value).alias(reason) for reason in reasons]
    return (
        frames.small(run=frames.recorded("drops"))
        .join(rows.groupBy("run").agg(*counts), "run", "left")
        .fillna(0, [*reasons])
        .transform(as_figures(dict.fromkeys(reasons, "packets")))
        .withColumn("metric", sf.concat(sf.lit(f"{prefix}."), "metric"))
    )
