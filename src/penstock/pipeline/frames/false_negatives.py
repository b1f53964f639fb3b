"""False negatives as a join: what `metrics/delivery/false_negatives` counts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.pipeline.frames.tables import MESSAGE


def false_negatives(expected: DataFrame, receipts: DataFrame) -> DataFrame:
    """Expected messages, and those that never came, of each run and ordering that received any.

    An ordering in which no application got anything has no row here.
    """
    # Files of traces are so small that Spark, left alone, broadcasts all their rows.
    orderings = sf.broadcast(receipts.select("run", "ordering").distinct())
    wanted = expected.select(*MESSAGE).join(orderings, "run")
    never_came = wanted.join(receipts.hint("merge"), ["ordering", *MESSAGE], "left_anti")
    by_ordering = ["run", "ordering"]
    missed = never_came.groupBy(*by_ordering).agg(sf.count("*").alias("false_negatives"))
    return (
        wanted.groupBy(*by_ordering)
        .agg(sf.count("*").alias("expected"))
        .join(missed, by_ordering, "left")
        .fillna(0, ["false_negatives"])
        .withColumn("false_negative_ratio", sf.col("false_negatives") / sf.col("expected"))
    )
