"""The twin of `kernels.repaired`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.kernels.repaired import SHARES
from penstock.pipeline.twins.frames import NETWORK, ORDERING, Frames, is_received
from penstock.pipeline.twins.spread import as_histograms, as_spread, binned
from penstock.pipeline.twins.steps import as_figures, as_seconds, events, nothing, tallied, totals
from penstock.trace.fates import ReceiverFate


def repaired(frames: Frames) -> list[DataFrame]:
    """Delays of originals and of repairs, of each ordering."""
    received = frames.table("deliveries").where(is_received())
    is_repair = sf.col("fate") == ReceiverFate.REPAIRED.value
    quantity = sf.when(is_repair, "repaired_delay").otherwise("delivery_delay")
    delay = sf.col("delivered_ns") - sf.col("published_ns")
    values = received.select(*ORDERING, quantity.alias("quantity"), delay.alias("value_ns"))
    bins = frames.once(values.transform(binned))
    named = [(run, ordering) for run, ordering in frames.orderings if ordering != NETWORK]
    counted = [
        nothing(frames, {"repaired": named}),
        events(received.where(is_repair), "repaired", "delivered_ns"),
    ]
    tally = frames.once(tallied(frames, counted))
    return [
        totals(tally, ["repaired"]).transform(as_figures({"repaired": "deliveries"})),
        tally.transform(as_seconds(frames, ["repaired"])),
        bins.transform(as_spread(SHARES)),
        bins.transform(as_histograms),
    ]
