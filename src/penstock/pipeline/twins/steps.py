"""Steps that twins share: from aggregates to rows of the gold tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.kernel.instant import SECOND
from penstock.pipeline.twins.frames import NETWORK, ORDERING, Frames, whole
from penstock.pipeline.wide_table import to_wide

Step: TypeAlias = Callable[[DataFrame], DataFrame]

# What is counted: rows of a kind, each at an instant or at none.
_EVENT: Final = (*ORDERING, "kind", "at_ns", "amount")


def as_figures(units: Mapping[str, str], *, prefix: str | None = None) -> Step:
    """The columns that `units` names, one row each; a null was not computed.

    `prefix` is a column that says what their names begin with.
    """

    # As text: Spark is asked once, and not several times for each metric.
    parts = [f"'{name}', CAST(`{name}` AS DOUBLE), '{unit}'" for name, unit in units.items()]
    rows = f"stack({len(units)}, {', '.join(parts)}) AS (name, value, unit)"
    metric = "name" if prefix is None else f"concat_ws('_', `{prefix}`, name)"

    def step(frame: DataFrame) -> DataFrame:
        keys = ORDERING if prefix is None else (*ORDERING, prefix)
        return (
            frame.transform(with_ordering)
            .selectExpr(*keys, rows)
            .where("value IS NOT NULL")
            .selectExpr(*ORDERING, f"{metric} AS metric", "value", "unit")
            .transform(lambda figures: to_wide(figures, "figures"))
        )

    return step


def with_ordering(frame: DataFrame) -> DataFrame:
    """What names no ordering is of the network."""
    if "ordering" in frame.columns:
        return frame
    return frame.withColumn("ordering", sf.lit(NETWORK))


def events(frame: DataFrame, kind: str, at_ns: str | None = None) -> DataFrame:
    """Rows as events of a kind, each counting for one."""
    return frame.transform(with_ordering).select(
        *ORDERING,
        sf.lit(kind).alias("kind"),
        (sf.lit(None).cast("long") if at_ns is None else sf.col(at_ns)).alias("at_ns"),
        sf.lit(1).cast("long").alias("amount"),
    )


def counted(frame: DataFrame, amounts: Mapping[str, Column], at_ns: str | None = None) -> DataFrame:
    """Several events of each row: of each kind as many as its column says; none where it is null.

    One pass over the rows, where a part for each kind would be as many.
    """
    columns = [amount.cast("long").alias(kind) for kind, amount in amounts.items()]
    at = sf.lit(None).cast("long") if at_ns is None else sf.col(at_ns)
    return (
        frame.transform(with_ordering)
        .select(*ORDERING, at.alias("at_ns"), *columns)
        .unpivot([*ORDERING, "at_ns"], [*amounts], "kind", "amount")
        .where(sf.col("amount").isNotNull())
    )


def nothing(frames: Frames, told: Mapping[str, Iterable[tuple[str, str]]]) -> DataFrame:
    """Events that count for nothing, where there may be no other: by kind, runs and orderings."""
    rows = [(*where, kind) for kind, places in told.items() for where in places]
    small = frames.small(
        run=[run for run, _, _ in rows],
        ordering=[ordering for _, ordering, _ in rows],
        kind=[kind for _, _, kind in rows],
        amount=[0] * len(rows),
    )
    return small.withColumn("at_ns", sf.lit(None).cast("long"))


def tallied(frames: Frames, parts: Iterable[DataFrame]) -> DataFrame:
    """How many events of each kind there were in each `second`; null for those in none."""
    second = whole(sf.col("at_ns") - sf.col("origin_ns"), SECOND)
    inside = (second >= 0) & (second < sf.col("seconds"))
    return (
        reduce(DataFrame.unionByName, [part.select(*_EVENT) for part in parts])
        .join(sf.broadcast(frames.facts), "run")
        .withColumn("second", sf.when(inside, second))
        .groupBy(*ORDERING, "kind", "second")
        .agg(sf.sum("amount").alias("amount"))
    )


def totals(tally: DataFrame, kinds: Iterable[str]) -> DataFrame:
    """A column for each kind; null where there is nothing to tell of it."""
    columns = [_of_kind(kind).alias(kind) for kind in kinds]
    return tally.groupBy(*ORDERING).agg(*columns)


def as_seconds(frames: Frames, kinds: Iterable[str]) -> Step:
    """One row for each second of what a tally tells of, whether anything happened in it or not."""

    def step(tally: DataFrame) -> DataFrame:
        return every_second(frames, tally.where(sf.col("kind").isin(list(kinds))))

    return step


def as_named_seconds(
    frames: Frames,
    rows: DataFrame,
    prefix: str,
    name: str,
    at_ns: str,
    *,
    also: DataFrame | None = None,
) -> DataFrame:
    """Rows by second, of each name apart; `also` are those of whom there may be no row."""
    kind = sf.concat(sf.lit(prefix), sf.col(name)).alias("kind")
    columns = ("run", sf.lit(NETWORK).alias("ordering"), kind)
    one, never = sf.lit(1).cast("long"), sf.lit(None).cast("long")
    parts = [rows.select(*columns, sf.col(at_ns).alias("at_ns"), one.alias("amount"))]
    if also is not None:
        parts.append(also.select(*columns, never.alias("at_ns"), (one - 1).alias("amount")))
    return every_second(frames, tallied(frames, parts))


def every_second(frames: Frames, tally: DataFrame) -> DataFrame:
    """One row for each second of all that a tally tells of, whether anything happened or not."""
    every = sf.explode(sf.sequence(sf.lit(0).cast("long"), sf.col("seconds") - 1))
    grid = (
        tally.select(*ORDERING, "kind")
        .distinct()
        .join(sf.broadcast(frames.facts), "run")
        # A run may have no second at all.
        .where(sf.col("seconds") > 0)
        .select(*ORDERING, "kind", every.alias("second"), sf.lit(0).alias("amount"))
    )
    return (
        tally.where(sf.col("second").isNotNull())
        .unionByName(grid)
        .groupBy(*ORDERING, sf.col("kind").alias("metric"), "second")
        .agg(sf.sum("amount").alias("value"))
        .transform(lambda rows: to_wide(rows, "seconds"))
    )


def _of_kind(kind: str) -> Column:
    return sf.sum(sf.when(sf.col("kind") == kind, sf.col("amount")))
