"""All gold tables as one wide table, as kernels and twins return them; see `findings`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.pipeline.gold import GOLD

_KINDS: Final = {"string": StringType(), "int64": LongType(), "double": DoubleType()}


def _wide() -> StructType:
    from penstock.pipeline.kernels.findings import WIDE as ARROW

    return StructType([StructField(f.name, _KINDS[str(f.type)], f.nullable) for f in ARROW])


WIDE: Final = _wide()


def to_wide(frame: DataFrame, table: str) -> DataFrame:
    """Converts rows of a gold table to rows of the wide table."""
    # As SQL text: one call into Java instead of several per column.
    present = {*frame.columns}
    return frame.selectExpr(*(_column(field, table, present) for field in WIDE.fields))


def from_wide(wide: DataFrame, table: str) -> DataFrame:
    """Selects the rows of one gold table from the wide table."""
    return wide.where(sf.col("table") == table).select(*GOLD[table].names)


def _column(field: StructField, table: str, present: Collection[str]) -> str:
    name, kind = field.name, field.dataType.simpleString()
    if name == "table":
        return f"'{table}' AS `table`"
    return f"CAST({f'`{name}`' if name in present else 'NULL'} AS {kind}) AS `{name}`"
