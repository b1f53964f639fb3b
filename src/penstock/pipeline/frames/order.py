"""FIFO violations as window functions: what `metrics/delivery/fifo_order` counts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.window import Window

from penstock.pipeline.frames.tables import STREAM


def violations(receipts: DataFrame) -> DataFrame:
    """Rows, violations and descents of each run and ordering."""
    return (
        receipts.transform(_marked)
        .groupBy("run", "ordering")
        .agg(
            sf.count("*").alias("rows"),
            sf.count_if("is_late").alias("violations"),
            sf.count_if("is_descent").alias("descents"),
        )
        .withColumn("violation_ratio", sf.col("violations") / sf.col("rows"))
    )


def _marked(receipts: DataFrame) -> DataFrame:
    """Compares each row of a stream with the highest number before it and with the last one."""
    in_stream = Window.partitionBy(*STREAM).orderBy("ended_ns", "row")
    before = in_stream.rowsBetween(Window.unboundedPreceding, -1)
    return receipts.withColumns(
        {
            "is_late": sf.max("seq").over(before) > sf.col("seq"),
            "is_descent": sf.lag("seq").over(in_stream) > sf.col("seq"),
        }
    )
