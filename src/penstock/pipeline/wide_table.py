"""All gold tables of a run as one, the way kernels and twins hand them over; see `findings`."""

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
    """Rows of a gold table among those of others."""
    # As text: Spark is asked once, and not several times for each column.
    present = {*frame.columns}
    return frame.selectExpr(*(_column(field, table, present) for field in WIDE.fields))


def from_wide(wide: DataFrame, table: str) -> DataFrame:
    """The rows of one gold table again."""
    return wide.where(sf.col("table") == table).select(*GOLD[table].names)


def _column(field: StructField, table: str, present: Collection[str]) -> str:
    name, kind = field.name, field.dataType.simpleString()
    if name == "table":
        return f"'{table}' AS `table`"
    return f"CAST({f'`{name}`' if name in present else 'NULL'} AS {kind}) AS `{name}`"
