"""The tables of all runs as DataFrames, with what steps of several metrics share.

Row numbers are those within the file, taken as it is read: Spark keeps an order no
longer than that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.pipeline.ingest import FoundRun, read_table
from penstock.pipeline.kernels.base import Facts
from penstock.trace.fates import RECEIVED

NETWORK: Final = ""
MESSAGE: Final = ("subscriber", "publisher", "epoch", "seq")
# Numbers should rise within one of these.
STREAM: Final = ("run", "ordering", "subscriber", "publisher", "epoch")
PAIR: Final = ("run", "ordering", "subscriber", "publisher")
ORDERING: Final = ("run", "ordering")

_NUMBERS: Final = {"origin_ns", "duration_ns", "seconds", "amount"}


class Frames:
    """Some runs' tables."""

    def __init__(self, spark: SparkSession, runs: Sequence[FoundRun]) -> None:
        self._spark: Final = spark
        self._runs: Final = tuple(runs)
        # Spark looks at every file whenever a table is named: once is enough.
        self._tables: Final[dict[str, DataFrame]] = {}

    def table(self, name: str) -> DataFrame:
        """A table of all runs that recorded it, with the number of each row as `row`."""
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str) -> DataFrame:
        # Only what is read as one has row numbers of its own.
        alike: dict[tuple[Path, tuple[str, ...]], list[FoundRun]] = defaultdict(list)
        for run in self._runs:
            if name in run.missing_columns:
                alike[run.directory, run.missing_columns[name]].append(run)
        if not alike:
            return read_table(self._spark, [], name).withColumn("row", sf.lit(0).cast("long"))
        number = sf.col("_metadata.row_index")
        parts = [
            read_table(self._spark, runs, name).withColumn("row", number) for runs in alike.values()
        ]
        return reduce(DataFrame.unionByName, parts)

    def recorded(self, *tables: str) -> list[str]:
        """The runs that recorded all of these."""
        return [run.id for run in self._runs if {*tables} <= {*run.missing_columns}]

    @cached_property
    def facts(self) -> DataFrame:
        """What runs say of themselves: `run`, `origin_ns`, `duration_ns`, `seconds`."""
        rows = [Facts.of(run.id, run.row) for run in self._runs]
        return self.small(
            run=[facts.run for facts in rows],
            origin_ns=[facts.origin for facts in rows],
            duration_ns=[facts.duration for facts in rows],
            seconds=[facts.seconds for facts in rows],
        )

    @staticmethod
    def once(frame: DataFrame) -> DataFrame:
        """An aggregate that several results are made of: computed when the first one is."""
        return frame.persist()

    def small(self, **columns: Sequence[str] | Sequence[int]) -> DataFrame:
        """A few rows, which Spark sends along with a plan: names, and numbers whose name tells."""
        arrays = {
            name: pa.array(values, pa.int64() if name in _NUMBERS else pa.string())
            for name, values in columns.items()
        }
        return self._spark.createDataFrame(pa.table(arrays))

    @cached_property
    def receipts(self) -> DataFrame:
        """What came to receivers: arrivals as ordering "", and what applications got."""
        shared = ("run", *MESSAGE, "published_ns", "arrived_ns", "row")
        arrivals = self.table("arrivals").select(
            sf.lit(NETWORK).alias("ordering"), *shared, sf.col("arrived_ns").alias("ended_ns")
        )
        deliveries = self.table("deliveries").where(is_received())
        return arrivals.unionByName(
            deliveries.select("ordering", *shared, sf.col("delivered_ns").alias("ended_ns"))
        )

    @cached_property
    def orderings(self) -> list[tuple[str, str]]:
        """Run and ordering of all there is to tell of: networks, and orderings with a row."""
        networks = [(run, NETWORK) for run in self.recorded("arrivals")]
        named = self.table("deliveries").select(*ORDERING).distinct().collect()
        return networks + [(row["run"], row["ordering"]) for row in named]

    def orderings_of(self, runs: Collection[str]) -> DataFrame:
        """The same as a table, for some runs."""
        chosen = [(run, ordering) for run, ordering in self.orderings if run in runs]
        return self.small(run=[run for run, _ in chosen], ordering=[name for _, name in chosen])


def is_received() -> Column:
    """What the application got: its fate says so, and it has a time."""
    fates = [str(fate) for fate in sorted(RECEIVED)]
    return sf.col("fate").isin(fates) & sf.col("delivered_ns").isNotNull()


def whole(column: Column, size: int) -> Column:
    """How many whole `size`s, rounded down as numpy does, and exact where a double is not."""
    step = sf.lit(size).cast("long")
    return sf.call_function("div", column - sf.pmod(column, step), step)
