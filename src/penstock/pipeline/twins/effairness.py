"""The twin of `kernels.effairness`: counts as DataFrames, then one judgement for each run."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.findings import WIDE as ARROW
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.services import NEEDED, Edge, Offer, Service, judge
from penstock.pipeline.twins.frames import Frames
from penstock.pipeline.wide_table import WIDE

_PUBLISHER: Final = ("run", "publisher")
_PAIR: Final = (*_PUBLISHER, "subscriber")


def effairness(frames: Frames) -> list[DataFrame]:
    """Effairness of runs, publishers and pairs."""
    runs = sf.col("run").isin(frames.recorded(*NEEDED))
    services = (
        frames.table("expected")
        .where(runs)
        .groupBy(*_PAIR)
        .agg(
            # Exact, where a sum of integers would be too large.
            sf.sum(sf.xxhash64("epoch", "seq").cast("decimal(20,0)"))
            .cast("string")
            .alias("content"),
            sf.count("*").alias("expected"),
            sf.min("published_ns").alias("first_ns"),
            sf.max("published_ns").alias("last_ns"),
        )
    )
    received = (
        frames.table("arrivals")
        .groupBy(*_PAIR)
        .agg(
            sf.count("*").alias("received"),
            sf.max("arrived_ns").alias("received_last_ns"),
        )
    )
    offers = (
        frames.table("publications")
        .groupBy(*_PUBLISHER)
        .agg(
            sf.count("*").alias("messages"),
            sf.count("published_ns").alias("sent"),
            sf.sum(sf.when(sf.col("published_ns").isNotNull(), sf.col("size_bytes"))).alias(
                "size_bytes"
            ),
        )
    )
    each = services.join(received, [*_PAIR], "left").join(offers, [*_PUBLISHER])
    rate_bps = sf.coalesce("mean_bps", sf.col("capacity_bps").cast("double"))
    edges = (
        frames.table("edges")
        .where(runs)
        .withColumn("link", sf.concat_ws("-", "start", "end"))
        .join(_rates(frames), ["run", "link"], "left")
        .withColumn("capacity_bps", rate_bps)
        .select("run", *Edge._fields)
    )
    return [each.groupBy("run").cogroup(edges.groupBy("run")).applyInArrow(_judged, WIDE)]


def _rates(frames: Frames) -> DataFrame:
    """The mean rate of each link that was sampled within the experiment."""
    since = sf.col("sampled_ns") - sf.col("origin_ns")
    period_s = sf.col("period_ns") / SECOND
    mean = sf.sum(sf.col("capacity_bps") * period_s) / sf.sum(period_s)
    return (
        frames.table("links")
        .join(sf.broadcast(frames.facts), "run")
        .where((since > 0) & (since <= sf.col("duration_ns")))
        .where(sf.col("capacity_bps").isNotNull())
        .groupBy("run", "link")
        .agg(mean.alias("mean_bps"))
    )


def _judged(each: Any, edges: Any) -> Any:
    """All of one run; Spark calls for a run that has either."""
    rows = each.to_pylist()
    if not rows:
        return ARROW.empty_table()
    services = [
        Service(
            **{name: row[name] for name in Service._fields}
            | {"content": int(row["content"]), "received": row["received"] or 0}
        )
        for row in rows
    ]
    offers = {row["publisher"]: Offer(*(row[name] for name in Offer._fields)) for row in rows}
    found = Findings(rows[0]["run"])
    links = [Edge(*(row[name] for name in Edge._fields)) for row in edges.to_pylist()]
    judge(links, offers, services, found)
    return pa.Table.from_batches(found.batches(), ARROW)
