"""The twin of `kernels.congestion`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.pipeline.kernels.congestion import ACK, FATES
from penstock.pipeline.twins.frames import NETWORK, Frames, whole
from penstock.pipeline.twins.steps import (
    as_figures,
    as_named_seconds,
    as_seconds,
    counted,
    nothing,
    tallied,
    totals,
    with_ordering,
)
from penstock.pipeline.wide_table import to_wide

_FRAME: Final = ("run", "subscriber", "publisher", "sent_ns")
_FLOW: Final = ("run", "publisher", "flow")


def congestion(frames: Frames) -> list[DataFrame]:
    """Fates at the source, frames of feedback and flow tables."""
    return [*_sources(frames), *_feedback(frames), *_flows(frames)]


def _sources(frames: Frames) -> list[DataFrame]:
    one = sf.lit(1)
    left, fate = sf.col("published_ns").isNotNull(), sf.col("fate")
    publications = frames.table("publications")
    # By when they were offered, and by when they left.
    offered = {"offered": one, "dropped_at_source": sf.when(fate == "dropped_at_source", one)}
    sent = {
        "sent": sf.when(left, one),
        "rate_limited": sf.when(left & (fate == "rate_limited"), one),
    }
    places = [(run, NETWORK) for run in frames.recorded("publications")]
    parts = [
        nothing(frames, dict.fromkeys(FATES, places)),
        counted(publications, offered, "offered_ns"),
        counted(publications, sent, "published_ns"),
    ]
    tally = frames.once(tallied(frames, parts))
    held = publications.where(left).groupBy("run")
    held_ns = sf.sum(sf.col("published_ns") - sf.col("offered_ns")) / sf.count("*")
    return [
        frames.small(run=frames.recorded("publications"))
        .join(held.agg((held_ns / MILLISECOND).alias("held_mean")), "run", "left")
        .fillna(0.0, ["held_mean"])
        .transform(as_figures({"held_mean": "ms"})),
        totals(tally, FATES).transform(as_figures(dict.fromkeys(FATES, "messages"))),
        tally.transform(as_seconds(frames, FATES)),
    ]


def _feedback(frames: Frames) -> list[DataFrame]:
    each = frames.table("feedback").select(*_FRAME).distinct()
    acks = frames.table("signals").where(sf.col("kind") == ACK)
    told = frames.small(run=frames.recorded("feedback"))
    counts = each.groupBy("run").agg(sf.count("*").alias("feedback_frames"))
    return [
        told.join(counts, "run", "left")
        .fillna(0, ["feedback_frames"])
        .transform(as_figures({"feedback_frames": "frames"})),
        _rate(frames, each, "feedback_rate", "feedback"),
        _rate(frames, acks, "ack_rate", "signals"),
        as_named_seconds(frames, each, "feedback.", "publisher", "sent_ns"),
        as_named_seconds(frames, acks, "ack.", "publisher", "sent_ns"),
    ]


def _rate(frames: Frames, heard: DataFrame, name: str, table: str) -> DataFrame:
    """How many a second come to a publisher."""
    publishers = (
        frames.table("publications").groupBy("run").agg(sf.countDistinct("publisher").alias("who"))
    )
    who = sf.greatest(sf.coalesce("who", sf.lit(0)), sf.lit(1))
    rate = sf.try_divide(sf.col("heard"), sf.col("duration_ns") / SECOND) / who
    return (
        frames.small(run=frames.recorded(table, "publications"))
        .join(heard.groupBy("run").agg(sf.count("*").alias("heard")), "run", "left")
        .fillna(0, ["heard"])
        .join(publishers, "run", "left")
        .join(sf.broadcast(frames.facts), "run")
        .withColumn(name, rate)
        .transform(as_figures({name: "/s"}))
    )


def _flows(frames: Frames) -> list[DataFrame]:
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    second = whole(since - 1, SECOND)
    inside = frames.once(
        frames.table("flows")
        .join(sf.broadcast(frames.facts), "run")
        .where((since > 0) & (second < sf.col("seconds")))
        .select(*_FLOW, "seconds", second.alias("second"), "quota_mps", "sent_mps")
    )
    # With a time again, that of the second's beginning.
    seen = (
        inside.select(*_FLOW, "second")
        .distinct()
        .join(sf.broadcast(frames.facts), "run")
        .withColumn("at_ns", sf.col("second") * SECOND + sf.col("origin_ns"))
    )
    flows = inside.groupBy(*_FLOW).agg(
        sf.avg("quota_mps").alias("flow_quota_mps"), sf.avg("sent_mps").alias("flow_sent_mps")
    )
    return [
        _sizes(frames, inside),
        as_named_seconds(frames, seen, "flow_table.", "publisher", "at_ns"),
        flows.withColumnRenamed("flow", "subscriber")
        .unpivot(
            ["run", "publisher", "subscriber"],
            ["flow_quota_mps", "flow_sent_mps"],
            "metric",
            "value",
        )
        .transform(with_ordering)
        .transform(lambda rows: to_wide(rows, "pairs")),
    ]


def _sizes(frames: Frames, inside: DataFrame) -> DataFrame:
    table = inside.groupBy("run", "publisher", "seconds", "second").agg(
        sf.countDistinct("flow").alias("size")
    )
    by_publisher = table.groupBy("run", "publisher", "seconds").agg(
        sf.sum("size").alias("total"), sf.max("size").alias("most")
    )
    by_run = by_publisher.groupBy("run").agg(
        (sf.sum("total") / sf.sum("seconds")).alias("flow_table_mean"),
        sf.max("most").alias("flow_table_max"),
    )
    use = inside.groupBy("run").agg(_share("sent_mps", "quota_mps").alias("quota_use"))
    return (
        frames.small(run=frames.recorded("flows"))
        .join(by_run, "run", "left")
        .fillna(0, ["flow_table_mean", "flow_table_max"])
        .join(use, "run", "left")
        .transform(
            as_figures({"flow_table_mean": "flows", "flow_table_max": "flows", "quota_use": ""})
        )
    )


def _share(part: str, of: str) -> Column:
    return sf.try_divide(sf.sum(part), sf.sum(of))
