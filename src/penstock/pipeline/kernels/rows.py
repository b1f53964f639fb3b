"""A piece of a table as numpy columns, with names as numbers that hold for the whole run."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

# Numbers of messages have 32 bits on the wire; kernels put them into one integer with others.
SEQ_BITS: Final = 32
_NO_NAME: Final = -1


class Names:
    """Numbers for the names of one column, alike in all tables that have it."""

    __slots__ = ("_codes", "order")

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self.order: list[str] = []

    def code(self, name: str) -> int:
        """The number of a name, a new one if need be."""
        if name not in self._codes:
            self._codes[name] = len(self.order)
            self.order.append(name)
        return self._codes[name]

    def of(self, column: Any) -> Ints:
        """The number of each row's name; a piece's own numbers mean nothing elsewhere."""
        known = np.array([self.code(name) for name in column.dictionary.to_pylist()], np.int64)
        indices = column.indices
        if indices.null_count:
            codes = pc.fill_null(indices, 0).to_numpy()
            found = known[codes] if known.size else np.zeros(len(codes), np.int64)
            return np.where(_present(indices), found, _NO_NAME)
        return np.asarray(known[indices.to_numpy()])


class Rows:
    """Consecutive rows of one table."""

    def __init__(self, table: str, found: Any, names: dict[str, Names]) -> None:
        self.table: Final = table
        self.count: Final = int(found.num_rows)
        self._found = found
        self._names = names
        self._codes: dict[str, Ints] = {}

    def integers(self, column: str) -> Ints:
        """Whole numbers; 0 where there is none."""
        array = self._array(column)
        if array.null_count:
            array = pc.fill_null(array, 0)
        return np.asarray(array.to_numpy(zero_copy_only=False))

    def reals(self, column: str) -> Floats:
        """Numbers with a fraction."""
        return np.asarray(self._array(column).to_numpy(zero_copy_only=False), np.float64)

    def present(self, column: str) -> Flags:
        """Which rows have a value."""
        return _present(self._array(column))

    def codes(self, column: str) -> Ints:
        """Names as numbers; -1 where there is none."""
        if column not in self._codes:
            self._codes[column] = self._names.setdefault(column, Names()).of(self._array(column))
        return self._codes[column]

    def is_same(self, one: str, other: str) -> Flags:
        """Which rows have the same name in both columns."""
        names = (self._array(column).dictionary_decode() for column in (one, other))
        return np.asarray(pc.fill_null(pc.equal(*names), False).to_numpy(zero_copy_only=False))

    def is_one_of(self, column: str, names: Collection[str]) -> Flags:
        """Which rows have one of these names."""
        array = self._array(column)
        wanted = np.array([name in names for name in array.dictionary.to_pylist()], np.bool_)
        if array.null_count:
            codes = pc.fill_null(array.indices, 0).to_numpy()
            found = wanted[codes] if wanted.size else np.zeros(len(codes), np.bool_)
            return np.asarray(found & _present(array.indices))
        return np.asarray(wanted[array.indices.to_numpy()])

    @cached_property
    def seq(self) -> Ints:
        """The messages' numbers."""
        numbers = self.integers("seq")
        if self.count and (numbers.min() < 0 or int(numbers.max()) >> SEQ_BITS):
            raise UsageError(
                f"{self.table} has a seq below 0 or of more than {SEQ_BITS} bits: it is no number"
                " of a message"
            )
        return numbers

    def _array(self, column: str) -> Any:
        return _one_chunk(self._found[column])


def _one_chunk(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _present(array: Any) -> Flags:
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
