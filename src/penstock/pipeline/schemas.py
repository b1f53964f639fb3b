"""The tables of a trace as Spark says them, derived from `trace.schema`; a test compares.

Files do not hold the run they belong to: it stands in their path, and comes as
the first column, `run`.
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
    """A column with its type, and whether it may be null."""
    return StructField(column.name, TYPES[column.kind], column.nullable)


def schema_of(table: Table) -> StructType:
    """A table's columns, after that of the run."""
    run = StructField(RUN, StringType(), nullable=False)
    return StructType([run, *(field_of(column) for column in table.columns)])


SCHEMAS: Final[Mapping[str, StructType]] = MappingProxyType(
    {name: schema_of(table) for name, table in TABLES.items()}
)
# What was found and cannot be used.
QUARANTINE: Final = StructType(
    [
        StructField("path", StringType(), nullable=False),
        StructField("reason", StringType(), nullable=False),
    ]
)
