"""Rows of any table, drawn from the schema that describes them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.trace.records import Row
from penstock.trace.schema import EVENTS, Column, ColumnType, Table

VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {
    ColumnType.NAME: st.text(max_size=4),
    ColumnType.INTEGER: st.integers(-(2**63), 2**63 - 1),
    ColumnType.REAL: st.floats(allow_nan=False),
    ColumnType.FLAG: st.booleans(),
}


def values(column: Column) -> st.SearchStrategy[Any]:
    known = [word for words in column.enums for word in words]
    drawn = st.sampled_from(known) if known else VALUES[column.kind]
    return st.none() | drawn if column.nullable else drawn


def in_order(table: Table, rows: list[Row]) -> list[Row]:
    if table.time is None:
        return rows
    times = iter(sorted(t for row in rows if (t := getattr(row, table.time)) is not None))
    return [
        row if getattr(row, table.time) is None else replace(row, **{table.time: next(times)})
        for row in rows
    ]


def row_of(table: Table) -> st.SearchStrategy[Row]:
    return st.builds(table.record, **{column.name: values(column) for column in table.columns})


def rows_of(table: Table, *, least: int = 0, most: int = 12) -> st.SearchStrategy[list[Row]]:
    drawn = st.lists(row_of(table), min_size=least, max_size=most)
    return drawn.map(lambda rows: in_order(table, rows))


def traces(*, least: int = 0) -> st.SearchStrategy[list[Row]]:
    """Rows of one to three tables."""
    some = st.lists(st.sampled_from(EVENTS), min_size=1, max_size=3, unique_by=lambda t: t.name)
    return some.flatmap(
        lambda tables: st.tuples(*(rows_of(table, least=least) for table in tables))
    ).map(lambda parts: [row for part in parts for row in part])
