"""Spark schemas of the trace tables, derived from `trace.schema`.

Files do not contain the id of their run: it is part of their path, and becomes the
first column, `run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from penstock.trace.schema import TABLES, Column, ColumnType, Table

RUN: Final = "run"

TYPES: Final[Mapping[ColumnType, DataType]] = MappingProxyType(
    {
        ColumnType.NAME: StringType(),
        ColumnType.INTEGER: LongType(),
        ColumnType.REAL: DoubleType(),
        ColumnType.FLAG: BooleanType(),
    }
)


def field_of(column: Column) -> StructField:
    """The Spark field of a trace column."""
    return StructField(column.name, TYPES[column.kind], column.nullable)


def schema_of(table: Table) -> StructType:
    """The Spark schema of a trace table, with `run` as first column."""
    run = StructField(RUN, StringType(), nullable=False)
    return StructType([run, *(field_of(column) for column in table.columns)])


SCHEMAS: Final[Mapping[str, StructType]] = MappingProxyType(
    {name: schema_of(table) for name, table in TABLES.items()}
)
# Unusable runs.
QUARANTINE: Final = StructType(
    [
        StructField("path", StringType(), nullable=False),
        StructField("reason", StringType(), nullable=False),
    ]
)
