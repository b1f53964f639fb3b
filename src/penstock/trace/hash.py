"""The hash of a trace: equal for equal logical rows, however they were stored.

Each column is one stream of packed values, so neither the size of batches nor
the layout of files is seen; names enter as numbers by first mention, and as
text at the end, so no dictionary's codes are seen either. A table without rows
is left out: it makes no difference whether nothing happened or nobody looked.
The `runs` table, which holds the hash, is not covered.
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
    """Takes batches of any tables, each table's in order; the tables' own order is free."""

    __slots__ = ("_tables",)

    def __init__(self) -> None:
        self._tables: dict[str, _TableHash] = {}

    def add(self, batch: Batch) -> None:
        """Takes the next rows of a table."""
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
        # Which values are null; names say it by their code.
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
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    encoded = text.encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(4, "little") + encoded
