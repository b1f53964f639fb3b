"""The twin of `kernels.queues`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.twins.steps import as_figures, with_ordering
from penstock.pipeline.wide_table import to_wide


def queues(frames: Frames) -> list[DataFrame]:
    """The peak of each queue, and the longest sampled."""
    samples = frames.table("queues")
    held = samples.groupBy("run").agg(sf.max("held_bytes").alias("queue_max"))
    peaks = samples.groupBy("run", "queue").agg(
        sf.max(sf.greatest("held_bytes", "peak_bytes")).alias("value")
    )
    delays = _delays(frames)
    longest = delays.groupBy("run").agg(
        sf.max("mean").alias("queue_delay_mean"), sf.max("p95").alias("queue_delay_p95")
    )
    return [
        longest.transform(as_figures({"queue_delay_mean": "ms", "queue_delay_p95": "ms"})),
        delays.unpivot(["run", "queue"], ["mean", "p95"], "label", "value")
        .withColumn("metric", sf.concat(sf.lit("queue_delay_"), "label", sf.lit("."), "queue"))
        .withColumn("unit", sf.lit("ms"))
        .transform(with_ordering)
        .transform(lambda rows: to_wide(rows, "figures")),
        frames.small(run=frames.recorded("queues"))
        .join(held, "run", "left")
        .fillna(0, ["queue_max"])
        .transform(as_figures({"queue_max": "B"})),
        with_ordering(peaks)
        .withColumn("metric", sf.concat(sf.lit("queue_peak."), "queue"))
        .withColumn("unit", sf.lit("B"))
        .transform(lambda rows: to_wide(rows, "figures")),
    ]


def _delays(frames: Frames) -> DataFrame:
    """Of each queue whose link has a rate at the same instant."""
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    inside = (since > 0) & (since <= sf.col("duration_ns"))
    rates = (
        frames.table("links")
        .where(sf.col("capacity_bps") > 0)
        .groupBy("run", sf.col("link").alias("queue"), "sampled_ns")
        .agg(sf.max("capacity_bps").alias("rate_bps"))
    )
    delay_ms = sf.col("held_bytes") * 8000.0 / sf.col("rate_bps")
    return (
        frames.table("queues")
        .join(sf.broadcast(frames.facts), "run")
        .where(inside)
        .join(rates, ["run", "queue", "sampled_ns"])
        .groupBy("run", "queue")
        .agg(sf.avg(delay_ms).alias("mean"), sf.percentile(delay_ms, sf.lit(0.95)).alias("p95"))
    )
