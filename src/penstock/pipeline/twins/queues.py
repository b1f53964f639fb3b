"""The twin of `kernels.queues`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.twins.steps import as_figures, with_ordering
from penstock.pipeline.wide import widened


def queues(frames: Frames) -> list[DataFrame]:
    """The peak of each queue, and the longest sampled."""
    samples = frames.table("queues")
    held = samples.groupBy("run").agg(sf.max("held_bytes").alias("queue_max"))
    peaks = samples.groupBy("run", "queue").agg(
        sf.max(sf.greatest("held_bytes", "peak_bytes")).alias("value")
    )
    return [
        frames.small(run=frames.recorded("queues"))
        .join(held, "run", "left")
        .fillna(0, ["queue_max"])
        .transform(as_figures({"queue_max": "B"})),
        with_ordering(peaks)
        .withColumn("metric", sf.concat(sf.lit("queue_peak."), "queue"))
        .withColumn("unit", sf.lit("B"))
        .transform(lambda rows: widened(rows, "figures")),
    ]
