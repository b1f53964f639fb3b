"""The schema is derived from the records, whole and described; the document agrees with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.trace import records
from penstock.trace.fates import LINK_REASONS
from penstock.trace.records import LinkSample, Row
from penstock.trace.schema import (
    EVENTS,
    HOSTS,
    RUNS,
    SCHEMA_VERSION,
    TABLES,
    UNITS,
    Column,
    ColumnType,
    Table,
)

PAGE = (Path(__file__).parents[2] / "docs" / "traces.md").read_text(encoding="utf-8")


def test_every_record_has_its_table() -> None:
    defined = {
        thing
        for thing in vars(records).values()
        if isinstance(thing, type) and issubclass(thing, Row) and thing is not Row
    }
    assert {table.record for table in TABLES.values()} == defined
    assert set(EVENTS) == set(TABLES.values()) - {RUNS, HOSTS}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_columns_are_the_fields_of_the_record(table: Table) -> None:
    assert tuple(c.name for c in table.columns) == table.record.__struct_fields__


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_everything_says_what_it_means(table: Table) -> None:
    assert table.meaning.endswith(".")
    assert all(column.meaning and "|" not in column.meaning for column in table.columns)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_order_is_by_a_time_of_the_table(table: Table) -> None:
    columns = {column.name: column for column in table.columns}
    if table.time is not None:
        assert columns[table.time].unit == "ns"
    if table.within is not None:
        assert columns[table.within].kind is ColumnType.NAME


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_units_come_last_and_belong_to_numbers(table: Table) -> None:
    for column in table.columns:
        if column.unit:
            assert column.kind in {ColumnType.INTEGER, ColumnType.REAL}
        if column.unit == UNITS["ns"]:
            assert column.kind is ColumnType.INTEGER


def test_links_count_drops_by_every_reason_they_have() -> None:
    counts = tuple(f"{reason}_packets" for reason in LINK_REASONS)
    assert LinkSample.__struct_fields__[-len(counts) :] == counts


def shown(column: Column) -> str:
    words = ", ".join(f"`{word}`" for words in column.enums for word in words)
    kind = f"{words or column.kind}{' or null' if column.nullable else ''}"
    return f"| `{column.name}` | {kind} | {column.unit} | {column.meaning} |"


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_the_document_shows_the_table(table: Table) -> None:
    section = PAGE.split(f"\n### {table.name}\n")[1].split("\n### ")[0]
    assert table.meaning in section
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    assert lines == [shown(column) for column in table.columns]


def test_the_document_shows_no_other_table_and_the_version() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, re.MULTILINE) == list(TABLES)
    assert f"schema version {SCHEMA_VERSION}" in PAGE
