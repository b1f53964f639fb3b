"""Spark's schemas mirror the trace's, field by field."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StringType, StructField

from penstock.pipeline.schemas import SCHEMAS
from penstock.trace.schema import TABLES, Table

# Written out here, so that a slip in the program is not repeated.
SPARK_NAMES = {"name": "string", "int64": "bigint", "float64": "double", "bool": "boolean"}


def test_every_table_has_a_schema() -> None:
    assert list(SCHEMAS) == list(TABLES)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_schema_has_the_run_and_then_the_columns_of_its_table(table: Table) -> None:
    run, *fields = SCHEMAS[table.name].fields
    assert run == StructField("run", StringType(), nullable=False)
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in fields] == [
        (column.name, SPARK_NAMES[column.kind.value], column.nullable) for column in table.columns
    ]


def test_a_column_and_its_type_as_the_document_says_them() -> None:
    delivery = SCHEMAS["deliveries"]
    assert delivery["latch_ns"].simpleString() == "latch_ns:bigint"
    assert delivery["latch_ns"].nullable
    assert not delivery["fate"].nullable
    assert SCHEMAS["feedback"]["loss_event_rate"].simpleString() == "loss_event_rate:double"
    assert SCHEMAS["repairs"]["is_unicast"].simpleString() == "is_unicast:boolean"
