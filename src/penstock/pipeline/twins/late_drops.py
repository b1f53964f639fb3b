"""The twin of `kernels.late_drops`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.twins.frames import ORDERING, Frames
from penstock.pipeline.twins.steps import as_figures
from penstock.trace.fates import ReceiverFate


def late_drops(frames: Frames) -> list[DataFrame]:
    """Counts them for each ordering that is named."""
    is_dropped = sf.col("fate") == ReceiverFate.DROPPED_LATE.value
    found = frames.table("deliveries").groupBy(*ORDERING)
    dropped = found.agg(sf.count_if(is_dropped).alias("late_drops"))
    return [dropped.transform(as_figures({"late_drops": "messages"}))]
