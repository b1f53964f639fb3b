"""Converts rows to columns, once for the hash, the files and the metrics.

Names become codes in the order in which a column first has them, so that the codes depend on
the rows alone, whatever the size of the batches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.trace.records import Row
from penstock.trace.schema import Column, ColumnType, Table

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

NULL_CODE: Final = -1

_FORMATS: Final = {
    ColumnType.INTEGER: ("q", "<i8"),
    ColumnType.REAL: ("d", "<f8"),
    ColumnType.FLAG: ("?", "?"),
}


class NameCodes(dict[str | None, int]):
    """The codes of a column's names, in the order of first occurrence."""

    def __init__(self) -> None:
        # Codes count `names`, not this dictionary, since null has a code but is not a name.
        super().__init__({None: NULL_CODE})
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        code = self[name] = len(self.names)
        self.names.append(str(name))
        return code


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """One column of a batch.

    For names, `values` are codes into `names`, which later batches extend, and a null is
    `NULL_CODE`. For other types a null is 0 and False in `valid`, which is None without nulls.
    """

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    names: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of one table."""

    table: Table
    rows: int
    columns: dict[str, PackedColumn]

    def integers(self, column: str) -> Ints:
        """Whole numbers; 0 where there is none."""
        return self.columns[column].values

    def reals(self, column: str) -> Floats:
        """Numbers with a fraction; 0 where there is none."""
        return self.columns[column].values

    def codes(self, column: str) -> Ints:
        """Names as codes into `names`; `NULL_CODE` where there is none."""
        return self.columns[column].values

    def names(self, column: str) -> list[str]:
        """The names behind the codes; later batches extend the list."""
        names = self.columns[column].names
        assert names is not None, f"{column} holds no names"
        return names

    def present(self, column: str) -> Flags:
        """Which rows have a value."""
        packed = self.columns[column]
        if packed.names is not None:
            return np.asarray(packed.values != NULL_CODE)
        return np.ones(self.rows, np.bool_) if packed.valid is None else packed.valid

    def is_one_of(self, column: str, names: Collection[str]) -> Flags:
        """Which rows have one of these names."""
        # The last place is that of `NULL_CODE`, which indexes from the end.
        wanted = np.array([*(name in names for name in self.names(column)), False], np.bool_)
        return np.asarray(wanted[self.columns[column].values])

    def is_same(self, one: str, other: str) -> Flags:
        """Which rows have the same name in both columns."""
        codes = {name: code for code, name in enumerate(self.names(other))}
        unlike = NULL_CODE - 1
        ours = np.array([*(codes.get(name, unlike) for name in self.names(one)), unlike], np.int64)
        return np.asarray(ours[self.columns[one].values] == self.columns[other].values)

    def only(self, columns: Collection[str]) -> Batch:
        """The same rows with no other columns than these."""
        if len(columns) >= len(self.columns):
            return self
        kept = {name: packed for name, packed in self.columns.items() if name in columns}
        return Batch(self.table, self.rows, kept)

    def select(self, chosen: Flags) -> Batch:
        """The chosen rows."""
        columns = {
            name: PackedColumn(
                packed.values[chosen],
                None if packed.valid is None else packed.valid[chosen],
                packed.names,
            )
            for name, packed in self.columns.items()
        }
        return Batch(self.table, int(np.count_nonzero(chosen)), columns)


class Packer:
    """Packs the rows of one table of one run, batch by batch."""

    __slots__ = ("_columns", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self._columns = [(c.name, _column_getter(c.name), _column_packer(c)) for c in table.columns]

    def pack(self, rows: Sequence[Row]) -> Batch:
        """Packs the next rows."""
        columns = {name: pack(take(rows)) for name, take, pack in self._columns}
        return Batch(self.table, len(rows), columns)

    def pack_columns(self, columns: Sequence[list[Any]]) -> Batch:
        """Packs the next rows, given as columns."""
        packed = {
            name: pack(values)
            for (name, _, pack), values in zip(self._columns, columns, strict=True)
        }
        return Batch(self.table, len(columns[0]), packed)


def _column_getter(name: str) -> Callable[[Sequence[Row]], list[Any]]:
    # Compiled per name: takes half the time of attrgetter, for every field of every record.
    take: Callable[[Sequence[Row]], list[Any]] = eval(f"lambda rows: [row.{name} for row in rows]")
    return take


def _column_packer(column: Column) -> Callable[[list[Any]], PackedColumn]:
    if column.kind is ColumnType.NAME:
        return _name_packer(nullable=column.nullable)
    kind = column.kind

    def pack(values: list[Any]) -> PackedColumn:
        return PackedColumn(_pack_numbers(kind, values))

    def pack_nullable(values: list[Any]) -> PackedColumn:
        try:
            return pack(values)
        except struct.error:
            valid = _pack_numbers(ColumnType.FLAG, [value is not None for value in values])
            return PackedColumn(_pack_numbers(kind, [value or 0 for value in values]), valid)

    return pack_nullable if column.nullable else pack


def _pack_numbers(kind: ColumnType, values: list[Any]) -> NDArray[Any]:
    # The fastest of five ways tried; unlike numpy it refuses 1.5 as an integer.
    code, dtype = _FORMATS[kind]
    return np.frombuffer(struct.pack(f"<{len(values)}{code}", *values), dtype)


def _name_packer(*, nullable: bool) -> Callable[[list[Any]], PackedColumn]:
    names = NameCodes()
    if not nullable:
        del names[None]
    code_of = names.__getitem__

    def pack(values: list[Any]) -> PackedColumn:
        codes = struct.pack(f"<{len(values)}i", *map(code_of, values))
        return PackedColumn(np.frombuffer(codes, "<i4"), names=names.names)

    return pack
