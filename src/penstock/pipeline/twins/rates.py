"""The twin of `kernels.rates`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.twins.frames import MESSAGE, NETWORK, ORDERING, Frames
from penstock.pipeline.twins.steps import as_figures, as_seconds, events, nothing, tallied, totals

_SECONDS: Final = ("deliveries", "false_negatives")
# What is counted; `wanted` is `expected` again, for each ordering.
_KINDS: Final = (*_SECONDS, "publications", "expected", "wanted")
_UNITS: Final = {
    "expected": "deliveries",
    "deliveries": "deliveries",
    "false_negatives": "deliveries",
    "false_negative_ratio": "",
    "receivers_per_message": "",
}


def rates(frames: Frames) -> list[DataFrame]:
    """Deliveries and false negatives."""
    tally = frames.once(tallied(frames, _events(frames)))
    figures = (
        totals(tally, _KINDS)
        .withColumn("false_negative_ratio", _share("false_negatives", "wanted"))
        .withColumn("receivers_per_message", _share("expected", "publications"))
    )
    return [
        figures.transform(as_figures(_UNITS)),
        tally.transform(as_seconds(frames, _SECONDS)),
    ]


def _events(frames: Frames) -> list[DataFrame]:
    recorded = {*frames.recorded("expected")}
    judged = [(run, ordering) for run, ordering in frames.orderings if run in recorded]
    wanted = frames.table("expected").join(sf.broadcast(frames.orderings_of(recorded)), "run")
    missed = wanted.join(frames.receipts, [*ORDERING, *MESSAGE], "left_anti")
    told = {
        **{
            kind: [(run, NETWORK) for run in frames.recorded(kind)]
            for kind in ("publications", "expected")
        },
        "deliveries": frames.orderings,
        "wanted": judged,
        "false_negatives": judged,
    }
    return [
        nothing(frames, told),
        events(frames.table("publications"), "publications"),
        events(frames.table("expected"), "expected"),
        events(frames.receipts, "deliveries", "ended_ns"),
        events(wanted, "wanted"),
        events(missed, "false_negatives", "published_ns"),
    ]


def _share(part: str, of: str) -> Column:
    """Nothing of nothing is 0; what there is nothing to tell of is null."""
    share = sf.try_divide(part, of)
    return sf.when(sf.col(of) == 0, sf.when(sf.col(part).isNotNull(), 0.0)).otherwise(share)
