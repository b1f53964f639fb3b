"""Trace tables of several runs as DataFrames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.metrics.codes import NETWORK
from penstock.pipeline.ingest import FoundRun, read_table
from penstock.trace.fates import RECEIVED

# Sequence numbers should rise within one of these.
STREAM: Final = ("run", "ordering", "subscriber", "publisher", "epoch")
MESSAGE: Final = ("run", "subscriber", "publisher", "epoch", "seq")


def numbered(spark: SparkSession, runs: Sequence[FoundRun], table: str) -> DataFrame:
    """A table of all runs that recorded it, with `row`, the number of each row in its file.

    Spark keeps the order of rows no longer than until the first shuffle.
    """
    # Only files that are read together have row numbers of their own.
    alike: dict[tuple[Path, tuple[str, ...]], list[FoundRun]] = defaultdict(list)
    for run in runs:
        if table in run.missing_columns:
            alike[run.directory, run.missing_columns[table]].append(run)
    if not alike:
        return read_table(spark, [], table).withColumn("row", sf.lit(0).cast("long"))
    number = sf.col("_metadata.row_index")
    parts = [read_table(spark, own, table).withColumn("row", number) for own in alike.values()]
    return reduce(DataFrame.unionByName, parts)


def receipts(spark: SparkSession, runs: Sequence[FoundRun]) -> DataFrame:
    """What came to receivers: arrivals as ordering "", and deliveries that applications got."""
    shared = (*MESSAGE, "published_ns", "arrived_ns", "row")
    arrivals = numbered(spark, runs, "arrivals").select(
        sf.lit(NETWORK).alias("ordering"), *shared, sf.col("arrived_ns").alias("ended_ns")
    )
    deliveries = numbered(spark, runs, "deliveries").where(_is_received())
    return arrivals.unionByName(
        deliveries.select("ordering", *shared, sf.col("delivered_ns").alias("ended_ns"))
    )


def _is_received() -> Column:
    fates = [str(fate) for fate in sorted(RECEIVED)]
    return sf.col("fate").isin(fates) & sf.col("delivered_ns").isNotNull()
