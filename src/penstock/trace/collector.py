"""Collects records one by one and passes them on in batches of columns.

This is the hot path of tracing: one call, one dictionary lookup and one append per record. Does
not know what its consumers (files, metrics) do with a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from penstock.kernel.errors import UsageError
from penstock.trace.batch import Batch, Packer
from penstock.trace.hash import TraceHash
from penstock.trace.records import Row
from penstock.trace.row_order import RowOrderCheck
from penstock.trace.schema import EVENTS, Table

Consumer: TypeAlias = Callable[[Batch], None]

# Small enough for records to be still in the processor's cache when they are packed.
BATCH_ROWS: Final = 2048


class Collector:
    """The trace of one run in progress."""

    __slots__ = ("_batch_rows", "_consumers", "_hash", "_order_checks", "_packers", "_rows")

    def __init__(
        self,
        consumers: Sequence[Consumer] = (),
        *,
        tables: Iterable[Table] = EVENTS,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        if batch_rows < 1:
            raise UsageError(f"a batch needs at least 1 row, not {batch_rows}")
        chosen = {table.record: table for table in tables}
        self._rows: dict[type[Row], list[Row]] = {record: [] for record in chosen}
        self._packers = {record: Packer(table) for record, table in chosen.items()}
        self._order_checks = {record: RowOrderCheck(table) for record, table in chosen.items()}
        self._hash = TraceHash()
        self._consumers = (self._hash.add, *consumers)
        self._batch_rows = batch_rows

    def collects(self, record: type[Row]) -> bool:
        """Whether such records are collected: ask once, and make no others."""
        return record in self._rows

    def add(self, row: Row) -> None:
        """Adds a record of a collected table."""
        rows = self._rows[type(row)]
        rows.append(row)
        if len(rows) >= self._batch_rows:
            self._flush(type(row))

    def close(self) -> str:
        """Passes on the remaining rows; returns the trace hash."""
        for record in self._rows:
            self._flush(record)
        return self._hash.hexdigest()

    def _flush(self, record: type[Row]) -> None:
        rows = self._rows[record]
        if not rows:
            return
        batch = self._packers[record].pack(rows)
        rows.clear()
        assert self._order_checks[record].is_ordered(batch), f"{batch.table.name} are out of order"
        for consume in self._consumers:
            consume(batch)
