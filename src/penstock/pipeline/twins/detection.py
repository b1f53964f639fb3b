"""The twin of `kernels.detection`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import MILLISECOND
from penstock.pipeline.twins.frames import MESSAGE, NETWORK, ORDERING, Frames
from penstock.pipeline.twins.steps import as_figures, events, nothing, tallied, totals
from penstock.trace.fates import ReceiverFate

_UNITS: Final = {
    "losses_declared": "messages",
    "losses_right": "messages",
    "losses_retracted": "messages",
    "loss_precision": "",
    "loss_recall": "",
    "loss_declared_after": "ms",
    "loss_declared_since": "ms",
}


def detection(frames: Frames) -> list[DataFrame]:
    """Precision and recall of declared losses."""
    told = frames.recorded("expected", "arrivals")
    judged = sf.broadcast(frames.small(run=told))
    key = ["run", *MESSAGE]
    missed = frames.table("expected").join(frames.table("arrivals"), key, "left_anti")
    once = missed.groupBy(*key).agg(sf.min("published_ns").alias("published_ns"))
    silent = frames.orderings_of(frames.recorded("losses")).where(sf.col("ordering") != NETWORK)
    losses = (
        frames.table("losses")
        # A row that declares nothing, for orderings that may have no other.
        .unionByName(silent, allowMissingColumns=True)
        .join(judged, "run")
        .join(once, key, "left")
    )
    counted = [
        events(missed.join(judged, "run"), "missed"),
        nothing(frames, {"missed": [(run, NETWORK) for run in told]}),
    ]
    return [
        totals(tallied(frames, counted), ["missed"]).transform(
            as_figures({"missed": "deliveries"})
        ),
        losses.transform(_judged)
        .join(once.groupBy("run").agg(sf.count("*").alias("to_find")), "run", "left")
        .withColumn("loss_recall", sf.col("found") / sf.col("to_find"))
        .transform(as_figures(_UNITS)),
    ]


def _judged(losses: DataFrame) -> DataFrame:
    """What each ordering declared; it was right where the message has a publication."""
    is_declared = sf.col("lost_ns").isNotNull()
    is_right = is_declared & sf.col("published_ns").isNotNull()
    came = is_declared & (sf.col("resolution") != ReceiverFate.GIVEN_UP.value)
    right = sf.when(is_right, sf.struct(*MESSAGE))
    after_ns, since_ns = (
        sf.when(which, sf.col("lost_ns") - sf.col(start))
        for which, start in ((is_declared, "detected_ns"), (is_right, "published_ns"))
    )
    return losses.groupBy(*ORDERING).agg(
        sf.count_if(is_declared).alias("losses_declared"),
        sf.count_if(is_right).alias("losses_right"),
        sf.count_if(came).alias("losses_retracted"),
        sf.avg(sf.when(is_declared, is_right.cast("int"))).alias("loss_precision"),
        sf.count_distinct(right).alias("found"),
        (sf.avg(after_ns) / MILLISECOND).alias("loss_declared_after"),
        (sf.avg(since_ns) / MILLISECOND).alias("loss_declared_since"),
    )
