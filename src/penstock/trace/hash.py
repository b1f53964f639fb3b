"""The hash of a trace: equal for equal rows, however they are stored.

Each column is hashed as one stream of packed values, so that neither batch sizes nor file
layout matter; names are hashed as codes by first occurrence, and as text at the end, so that
dictionary codes do not matter either. A table without rows is left out: an empty table and one
that was not collected give the same hash. The `runs` table, which holds the hash, is not
covered.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from penstock.trace.batch import Batch, PackedColumn
from penstock.trace.schema import Column, ColumnType, Table

if TYPE_CHECKING:
    from hashlib import _Hash


class TraceHash:
    """Hashes batches of any tables, in order within each table; tables may alternate."""

    __slots__ = ("_tables",)

    def __init__(self) -> None:
        self._tables: dict[str, _TableHash] = {}

    def add(self, batch: Batch) -> None:
        """Adds the next rows of a table."""
        name = batch.table.name
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _TableHash(batch.table)
        table.add(batch)

    def hexdigest(self) -> str:
        """The hash of all rows so far."""
        whole = sha256()
        for name in sorted(self._tables):
            table = self._tables[name]
            if table.rows:
                whole.update(table.digest())
        return whole.hexdigest()


class _TableHash:
    __slots__ = ("_columns", "_table", "rows")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns = [_ColumnHash(column) for column in table.columns]
        self.rows = 0

    def add(self, batch: Batch) -> None:
        self.rows += batch.rows
        for column in self._columns:
            column.add(batch.columns[column.name])

    def digest(self) -> bytes:
        digest = sha256(_framed(self._table.name) + self.rows.to_bytes(8, "little"))
        for column in self._columns:
            digest.update(_framed(column.name) + column.digest())
        return digest.digest()


class _ColumnHash:
    __slots__ = ("_names", "_nulls", "_values", "name")

    def __init__(self, column: Column) -> None:
        self.name = column.name
        self._values = sha256()
        # Nulls are hashed apart, except for names, where the code shows them.
        flagged = column.nullable and column.kind is not ColumnType.NAME
        self._nulls: _Hash | None = sha256() if flagged else None
        self._names: list[str] = []

    def add(self, packed: PackedColumn) -> None:
        self._values.update(packed.values.data)
        if packed.names is not None:
            self._names = packed.names
        if self._nulls is not None:
            valid = packed.valid
            if valid is None:
                valid = np.ones(len(packed.values), np.bool_)
            self._nulls.update(valid.data)

    def digest(self) -> bytes:
        digest = sha256(self._values.digest())
        if self._nulls is not None:
            digest.update(self._nulls.digest())
        for name in self._names:
            digest.update(_framed(name))
        return digest.digest()


def _framed(text: str) -> bytes:
    # Lengths distinguish ("ab", "c") from ("a", "bc").
    encoded = text.encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(4, "little") + encoded
