"""The twin of `kernels.recovery`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.kernels.repaired import SHARES
from penstock.pipeline.twins.frames import NETWORK, Frames
from penstock.pipeline.twins.spread import as_histograms, as_spread, binned
from penstock.pipeline.twins.steps import (
    as_figures,
    as_seconds,
    counted,
    nothing,
    tallied,
    totals,
    with_ordering,
)

_KEY: Final = ("run", "publisher", "epoch", "seq")
_SECONDS: Final = ("requests", "repairs", "signals", "messages_asked_for", "messages_answered")
# What is counted, and the tables without which there is nothing to tell of it.
_NEEDED: Final = {
    "requests": ("requests",),
    "repairs": ("repairs",),
    "signals": ("signals",),
    "messages_asked_for": ("requests",),
    "messages_answered": ("requests", "repairs"),
    "messages_repaired": ("repairs",),
    "asked_twice": ("requests",),
    "sent_twice": ("requests", "repairs"),
    "published": ("publications",),
    "published_bytes": ("publications",),
    "headers_bytes": ("publications",),
    "requests_bytes": ("requests",),
    "repairs_bytes": ("repairs",),
    "signals_bytes": ("signals",),
}
_UNITS: Final = {
    "requests": "requests",
    "repairs": "repairs",
    "signals": "signals",
    "messages_asked_for": "messages",
    "messages_repaired": "messages",
    "requests_not_duplicated": "",
    "repairs_not_duplicated": "",
    "hit_ratio": "",
    "frame_bytes": "B",
    "header_bytes": "B",
    "recovery_bytes": "B",
}


def recovery(frames: Frames) -> list[DataFrame]:
    """Requests, repairs and signals: how many, when, how much of it in vain, how many bytes."""
    messages = frames.once(_messages(frames))
    tally = frames.once(tallied(frames, _events(frames, messages)))
    wait = sf.col("repaired_ns") - sf.col("asked_ns")
    waits = (
        messages.where(wait.isNotNull())
        .transform(with_ordering)
        .select("run", "ordering", sf.lit("request_to_repair").alias("quantity"),
                wait.alias("value_ns"))
    )  # fmt: skip
    bins = frames.once(waits.transform(binned))
    return [
        totals(tally, _NEEDED).transform(_with_shares).transform(as_figures(_UNITS)),
        tally.transform(as_seconds(frames, _SECONDS)),
        bins.transform(as_spread(SHARES)),
        bins.transform(as_histograms),
    ]


def _messages(frames: Frames) -> DataFrame:
    """One row for each message that anyone asked for or sent again; null is never."""
    never = sf.lit(None).cast("long")
    requests = frames.table("requests").select(
        *_KEY, sf.col("sent_ns").alias("asked_ns"), never.alias("repaired_ns"), "round"
    )
    repairs = frames.table("repairs").select(
        *_KEY, never.alias("asked_ns"), sf.col("sent_ns").alias("repaired_ns"), never.alias("round")
    )
    return (
        requests.unionByName(repairs)
        .groupBy(*_KEY)
        .agg(
            sf.min("asked_ns").alias("asked_ns"),
            sf.min("repaired_ns").alias("repaired_ns"),
            sf.count("asked_ns").alias("requests"),
            sf.count("repaired_ns").alias("repairs"),
            sf.count_if(sf.col("round") == 0).alias("first_requests"),
        )
    )


def _events(frames: Frames, messages: DataFrame) -> list[DataFrame]:
    one, size = sf.lit(1), sf.col("size_bytes")
    left = sf.col("published_ns").isNotNull()
    is_asked, is_sent = sf.col("requests") > 0, sf.col("repairs") > 0
    needless = sf.col("repairs") - sf.greatest(sf.col("requests"), one)
    of_messages = {
        "messages_asked_for": sf.when(is_asked, one),
        "messages_answered": sf.when(is_asked & is_sent, one),
        "messages_repaired": sf.when(is_sent, one),
        "asked_twice": sf.when(is_asked, sf.greatest(sf.col("first_requests") - 1, sf.lit(0))),
        "sent_twice": sf.when(is_sent, sf.greatest(needless, sf.lit(0))),
    }
    of_publications = {
        "published": sf.when(left, one),
        "published_bytes": sf.when(left, size),
        "headers_bytes": sf.when(left, sf.col("header_bytes")),
    }
    told = {
        kind: [(run, NETWORK) for run in frames.recorded(*tables)]
        for kind, tables in _NEEDED.items()
    }
    return [
        nothing(frames, told),
        counted(messages, of_messages, "asked_ns"),
        counted(frames.table("publications"), of_publications),
        *(
            counted(frames.table(name), {name: one, f"{name}_bytes": size}, "sent_ns")
            for name in ("requests", "repairs", "signals")
        ),
    ]


def _with_shares(found: DataFrame) -> DataFrame:
    """Shares where anything was asked for; bytes for each message that was published."""
    asked, requests, repairs = map(sf.col, ("messages_asked_for", "requests", "repairs"))
    # `greatest` would pass over a null, which is a table that was not recorded.
    any_repairs = sf.when(repairs > 0, repairs).when(repairs == 0, 1)
    shares = {
        "requests_not_duplicated": 1 - sf.try_divide(sf.col("asked_twice"), requests),
        "repairs_not_duplicated": sf.when(asked > 0, 1 - sf.col("sent_twice") / any_repairs),
        "hit_ratio": sf.try_divide(sf.col("messages_answered"), asked),
        "frame_bytes": _per_message("published_bytes"),
        "header_bytes": _per_message("headers_bytes", "signals_bytes"),
        "recovery_bytes": _per_message("requests_bytes", "repairs_bytes"),
    }
    return found.withColumns(shares)


def _per_message(*parts: str) -> Column:
    published = sf.col("published")
    total = sum((sf.col(part) for part in parts[1:]), sf.col(parts[0]))
    return total / sf.when(published > 0, published).when(published == 0, 1)
