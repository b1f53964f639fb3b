"""The twin of `kernels.fairness`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.twins.frames import ORDERING, Frames, whole
from penstock.pipeline.twins.steps import as_figures


def fairness(frames: Frames) -> list[DataFrame]:
    """Jain's index of what came within the experiment, over all that expected or got anything."""
    key = [*ORDERING, "subscriber"]
    wanted = frames.table("expected").select("run", "subscriber").distinct()
    each = sf.broadcast(frames.orderings_of(frames.recorded("expected")))
    receivers = each.join(wanted, "run").select(*key, sf.lit(0).alias("one"))
    second = whole(sf.col("ended_ns") - sf.col("origin_ns"), SECOND)
    inside = sf.when((second >= 0) & (second < sf.col("seconds")), 1).otherwise(0)
    received = frames.receipts.join(sf.broadcast(frames.facts), "run")
    received = received.select(*key, inside.alias("one"))
    rates = receivers.union(received).groupBy(*key).agg(sf.sum("one").alias("rate"))
    total, squares = sf.sum("rate"), sf.sum(sf.col("rate") * sf.col("rate"))
    index = sf.try_divide(total * total, sf.count("*") * squares)
    found = rates.groupBy(*ORDERING).agg(sf.coalesce(index, sf.lit(1.0)).alias("jain"))
    return [found.transform(as_figures({"jain": ""}))]
