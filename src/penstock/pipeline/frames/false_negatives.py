"""False negatives as a join: what `metrics/delivery/false_negatives` counts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.frames.tables import MESSAGE


def false_negatives(expected: DataFrame, receipts: DataFrame) -> DataFrame:
    """Expected messages, and those that never came, of each run and ordering that received any.

    An ordering in which no application got anything has no row here.
    """
    orderings = receipts.select("run", "ordering").distinct()
    wanted = expected.select(*MESSAGE).join(orderings, "run")
    came = receipts.select("ordering", *MESSAGE).distinct().withColumn("came", sf.lit(True))
    return (
        wanted.join(came, ["ordering", *MESSAGE], "left")
        .groupBy("run", "ordering")
        .agg(
            sf.count("*").alias("expected"),
            sf.count_if(sf.col("came").isNull()).alias("false_negatives"),
        )
        .withColumn("false_negative_ratio", sf.col("false_negatives") / sf.col("expected"))
    )
