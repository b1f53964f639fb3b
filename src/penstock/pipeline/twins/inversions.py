"""The twin of `kernels.inversions`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.kernels.inversions import WINDOW
from penstock.pipeline.twins.frames import ORDERING, Frames
from penstock.pipeline.twins.order import in_stream
from penstock.pipeline.twins.steps import as_figures


def inversions(frames: Frames) -> list[DataFrame]:
    """Each row against the last ones of its stream."""
    recent = sf.collect_list("seq").over(in_stream().rowsBetween(-WINDOW, -1))
    above = sf.size(sf.filter(sf.col("recent"), lambda other: other > sf.col("seq")))
    found = (
        frames.receipts.withColumn("recent", recent)
        .groupBy(*ORDERING)
        .agg(sf.sum(above).alias("inversions"))
    )
    return [found.transform(as_figures({"inversions": ""}))]
