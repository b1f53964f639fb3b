"""The twin of `kernels.links`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.links import REASONS
from penstock.pipeline.twins.frames import Frames, whole
from penstock.pipeline.twins.steps import as_figures, with_ordering
from penstock.pipeline.wide_table import to_wide


def links(frames: Frames) -> list[DataFrame]:
    """What was sent and lost, and the use of each link."""
    samples, told = frames.table("links"), frames.recorded("links")
    facts = sf.broadcast(frames.facts)
    uses = samples.join(facts, "run").transform(_uses)
    seconds = frames.once(samples.join(facts, "run").transform(_seconds))
    most = uses.groupBy("run").agg(sf.max("value").alias("bottleneck_use"))
    packets = ("link_packets", *REASONS)
    return [
        facts.where(sf.col("run").isin(told))
        .join(_totals(samples), "run", "left")
        .fillna(0, list(packets))
        .withColumn("overload_from", _since_origin())
        .transform(as_figures(dict.fromkeys(packets, "packets") | {"overload_from": "s"})),
        most.transform(as_figures({"bottleneck_use": ""})),
        with_ordering(uses)
        .withColumn("metric", sf.concat(sf.lit("link_use."), "link"))
        .withColumn("unit", sf.lit(""))
        .transform(lambda rows: to_wide(rows, "figures")),
        seconds.unpivot(
            ["run", "link", "second"], ["link_kbps", "link_capacity_kbps"], "label", "value"
        )
        .withColumn("metric", sf.concat("label", sf.lit("."), "link"))
        .transform(with_ordering)
        .transform(lambda rows: to_wide(rows, "seconds")),
    ]


def _totals(samples: DataFrame) -> DataFrame:
    is_full = sf.col("queue_full_packets") > 0
    return samples.groupBy("run").agg(
        sf.sum("sent_packets").alias("link_packets"),
        *(sf.sum(reason).alias(reason) for reason in REASONS),
        sf.min(sf.when(is_full, sf.col("sampled_ns"))).alias("overload_ns"),
    )


def _since_origin() -> Column:
    """When a queue was first full, by the experiment's clock; its end if none ever was."""
    since = sf.greatest(sf.col("overload_ns") - sf.col("origin_ns"), sf.lit(0))
    return sf.when(sf.col("overload_ns").isNull(), sf.col("duration_ns")).otherwise(since) / SECOND


def _uses(samples: DataFrame) -> DataFrame:
    """Of each link that has a limit, the bits it sent of those it could have."""
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    could = sf.col("capacity_bps") * (sf.col("period_ns") / SECOND)
    return (
        samples.where((since > 0) & (since <= sf.col("duration_ns")))
        .where(sf.col("capacity_bps").isNotNull())
        .groupBy("run", "link")
        .agg(sf.sum(sf.col("sent_bytes") * 8.0).alias("sent"), sf.sum(could).alias("could"))
        .where(sf.col("could") > 0)
        .withColumn("value", sf.col("sent") / sf.col("could"))
    )


def _seconds(samples: DataFrame) -> DataFrame:
    """Of links that ever were half full: what they carried in each second, and could."""
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    period_s = sf.col("period_ns") / SECOND
    inside = samples.where(
        (since > 0) & (since <= sf.col("duration_ns")) & sf.col("capacity_bps").isNotNull()
    ).select(
        *("run", "link"),
        whole(since - 1, SECOND).alias("second"),
        (sf.col("sent_bytes") * 8.0).alias("sent"),
        (sf.col("capacity_bps") * period_s).alias("could"),
        period_s.alias("period_s"),
    )
    busy = inside.where(2 * sf.col("sent") >= sf.col("could")).select("run", "link").distinct()
    return (
        inside.join(busy, ["run", "link"], "left_semi")
        .groupBy("run", "link", "second")
        .agg(
            (sf.sum("sent") / sf.sum("period_s") / 1000).alias("link_kbps"),
            (sf.sum("could") / sf.sum("period_s") / 1000).alias("link_capacity_kbps"),
        )
    )
