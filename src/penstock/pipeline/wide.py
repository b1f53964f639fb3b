"""All gold tables of a run as one, the way kernels and twins hand them over; see `findings`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from penstock.pipeline.gold import GOLD

_KINDS: Final = {"string": StringType(), "int64": LongType(), "double": DoubleType()}


def _wide() -> StructType:
    from penstock.pipeline.kernels.findings import WIDE as ARROW

    return StructType([StructField(f.name, _KINDS[str(f.type)], f.nullable) for f in ARROW])


WIDE: Final = _wide()


def widened(frame: DataFrame, table: str) -> DataFrame:
    """Rows of a gold table among those of others."""
    return frame.select(*(_column(frame, field, table) for field in WIDE.fields))


def narrowed(wide: DataFrame, table: str) -> DataFrame:
    """The rows of one gold table again."""
    return wide.where(sf.col("table") == table).select(*GOLD[table].names)


def _column(frame: DataFrame, field: StructField, table: str) -> Column:
    if field.name == "table":
        return sf.lit(table).alias("table")
    there = sf.col(field.name) if field.name in frame.columns else sf.lit(None)
    return there.cast(field.dataType).alias(field.name)
