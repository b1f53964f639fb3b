"""The hash sees the rows, all of them, and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.trace.batch import Packer
from penstock.trace.collector import Collector
from penstock.trace.fates import ReceiverFate
from penstock.trace.hash import TraceHash
from penstock.trace.records import Delivery, Expected, Row
from penstock.trace.schema import EVENTS, TABLES, Table
from tests.interpreters import said_under_hash_seeds
from tests.trace.strategies import row_of, rows_of, traces, values


def hash_of(rows: list[Row], *, batch_rows: int = 4096) -> str:
    collector = Collector(batch_rows=batch_rows)
    for row in rows:
        collector.add(row)
    return collector.close()


def table_hash(table: Table, rows: list[Row]) -> str:
    whole = TraceHash()
    whole.add(Packer(table).pack(rows))
    return whole.hexdigest()


@settings(max_examples=30)
@given(traces(), st.integers(1, 5))
def test_the_size_of_batches_is_not_seen(rows: list[Row], batch_rows: int) -> None:
    assert hash_of(rows, batch_rows=batch_rows) == hash_of(rows)


@settings(max_examples=30)
@given(traces(), st.randoms())
def test_how_tables_interleave_is_not_seen(rows: list[Row], random: Random) -> None:
    tables = {type(row): iter([r for r in rows if type(r) is type(row)]) for row in rows}
    turns = [type(row) for row in rows]
    random.shuffle(turns)
    assert hash_of([next(tables[turn]) for turn in turns]) == hash_of(rows)


@pytest.mark.parametrize("table", EVENTS, ids=lambda table: table.name)
@settings(max_examples=8)
@given(data=st.data())
def test_any_changed_field_is_seen(table: Table, data: st.DataObject) -> None:
    rows = data.draw(rows_of(table, least=1, most=4))
    before = table_hash(table, rows)
    at = data.draw(st.integers(0, len(rows) - 1))
    for column in table.columns:
        other = data.draw(values(column))
        if other == getattr(rows[at], column.name):
            continue
        changed = [*rows[:at], replace(rows[at], **{column.name: other}), *rows[at + 1 :]]
        assert table_hash(table, changed) != before


@pytest.mark.parametrize("table", EVENTS, ids=lambda table: table.name)
@settings(max_examples=8)
@given(data=st.data())
def test_a_row_more_or_in_another_place_is_seen(table: Table, data: st.DataObject) -> None:
    rows = data.draw(rows_of(table, least=2, most=4))
    more = data.draw(row_of(table))
    assert table_hash(table, [*rows, more]) != table_hash(table, rows)
    assume(rows[0] != rows[-1])
    swapped = [rows[-1], *rows[1:-1], rows[0]]
    assert table_hash(table, swapped) != table_hash(table, rows)


def test_the_table_is_seen() -> None:
    row = Expected("p", 1, 2, "s", 0)
    twin = TABLES["expected"]
    renamed = Table("other", twin.record, "", twin.columns, None, None)
    assert table_hash(twin, [row]) != table_hash(renamed, [row])


def test_nothing_and_zero_differ() -> None:
    def delivery(latch_ns: int | None) -> Row:
        return Delivery("none", "s", "p", 1, 1, 1, 1, 1, latch_ns, ReceiverFate.DELIVERED)

    assert hash_of([delivery(None)]) != hash_of([delivery(0)])


def test_names_that_run_together_differ() -> None:
    one = hash_of([Expected("ab", 1, 2, "c", 0), Expected("c", 1, 2, "c", 0)])
    other = hash_of([Expected("a", 1, 2, "c", 0), Expected("bc", 1, 2, "c", 0)])
    assert one != other


PROGRAM = """
from penstock.trace.collector import Collector
from penstock.trace.records import Expected
collector = Collector()
for i in range(100):
    collector.add(Expected(f"p{i % 7}", 1, i, f"s{i % 11}", i))
print(collector.close())
"""


def test_the_hash_is_the_same_in_every_process_and_never_changes_by_itself() -> None:
    seen = {said.strip() for said in said_under_hash_seeds(PROGRAM)}
    assert seen == {"f96315bfc54f6cfb00d8a6244fbb0030baa526ec4ca6332d3c7541aa46ddfadd"}
