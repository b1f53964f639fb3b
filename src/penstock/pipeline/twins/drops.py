"""The twin of `kernels.drops`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.twins.steps import as_figures
from penstock.trace.fates import DropReason


def drops(frames: Frames) -> list[DataFrame]:
    """One figure for each reason; 0 where it never was."""
    names = {reason.value: f"drops.{reason.value}" for reason in DropReason}
    counts = [
        sf.count_if(sf.col("reason") == value).alias(value) for value in names
    ]  # a dot in a column's name would need quoting
    dropped = frames.table("drops").groupBy("run").agg(*counts)
    figures = as_figures(dict.fromkeys(names, "packets"))
    return [
        frames.small(run=frames.recorded("drops"))
        .join(dropped, "run", "left")
        .fillna(0, list(names))
        .transform(figures)
        .withColumn("metric", sf.concat(sf.lit("drops."), "metric"))
    ]
