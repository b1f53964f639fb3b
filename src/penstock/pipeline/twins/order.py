"""The twin of `kernels.order`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.window import Window, WindowSpec

from penstock.pipeline.twins.frames import NETWORK, ORDERING, STREAM, Frames
from penstock.pipeline.twins.steps import as_figures, as_seconds, counted, tallied, totals

_KINDS: Final = ("rows", "violations", "descents", "unsorted_rows")
_UNITS: Final = {
    "violations": "messages",
    "violation_ratio": "",
    "violations_removed": "",
    "descents": "messages",
    "unsorted_rows": "rows",
}


def order(frames: Frames) -> list[DataFrame]:
    """Violations and descents, of what arrived and of what each ordering made of it."""
    judged = [frames.receipts.transform(_judged), _unsorted(frames)]
    tally = frames.once(tallied(frames, judged))
    return [
        totals(tally, _KINDS)
        # Of an ordering that delivered nothing there is no order.
        .where(sf.col("rows").isNotNull())
        .fillna(0, ["unsorted_rows"])
        .transform(_with_ratios)
        .transform(as_figures(_UNITS)),
        tally.transform(as_seconds(frames, ["violations"])),
    ]


def in_stream() -> WindowSpec:
    """Rows of a stream as they were delivered: in order of time, then as they stand."""
    return Window.partitionBy(*STREAM).orderBy("ended_ns", "row")


def _judged(receipts: DataFrame) -> DataFrame:
    """Three events of each row: it counts, as a violation if it is one, and as a descent."""
    before = in_stream().rowsBetween(Window.unboundedPreceding, -1)
    is_late = sf.max("seq").over(before) > sf.col("seq")
    is_descent = sf.lag("seq").over(in_stream()) > sf.col("seq")
    flags = {"rows": sf.lit(True), "violations": is_late, "descents": is_descent}
    amounts = {kind: sf.coalesce(flag, sf.lit(False)) for kind, flag in flags.items()}
    return counted(receipts, amounts, "ended_ns")


def _with_ratios(found: DataFrame) -> DataFrame:
    """Adds the share of rows that are violations, and of arrivals' violations that are gone."""
    is_network = sf.col("ordering") == NETWORK
    of_run = Window.partitionBy("run")
    arrived_late = sf.max(sf.when(is_network, sf.col("violations"))).over(of_run)
    remain = sf.try_divide(sf.col("violations"), arrived_late)
    return found.withColumn("violation_ratio", sf.try_divide("violations", "rows")).withColumn(
        "violations_removed", sf.when(~is_network, 1 - remain)
    )


def _unsorted(frames: Frames) -> DataFrame:
    """Counts rows that come after a later one of their ordering."""
    arrivals = frames.table("arrivals").select(
        "run", sf.lit(NETWORK).alias("ordering"), sf.col("arrived_ns").alias("time_ns"), "row"
    )
    deliveries = frames.table("deliveries").select(
        *ORDERING, sf.col("delivered_ns").alias("time_ns"), "row"
    )
    before = sf.lag("time_ns").over(Window.partitionBy(*ORDERING).orderBy("row"))
    falls = sf.coalesce(sf.col("time_ns") < before, sf.lit(False))
    return (
        arrivals.unionByName(deliveries.where(sf.col("time_ns").isNotNull()))
        .withColumn("amount", falls.cast("long"))
        .withColumn("kind", sf.lit("unsorted_rows"))
        .withColumn("at_ns", sf.lit(None).cast("long"))
    )
