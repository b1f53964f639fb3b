"""Two numbers as one, from 0 and without gaps: what arrays of facts are indexed by.

Of all publishers and subscribers few ever exchange anything; a table finds the
number of each pair in one look.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.pipeline.kernels.rows import Ints

Kind = TypeVar("Kind", bound=np.generic)

_UNKNOWN: Final = -1
# Four bytes each.
_PLACES_MAX: Final = 1 << 26


class Numbering:
    """Numbers what stands in two columns."""

    __slots__ = ("_table", "count")

    def __init__(self) -> None:
        self._table: NDArray[np.int32] = np.full((1, 1), _UNKNOWN, np.int32)
        self.count = 0

    def of(self, first: Ints, second: Ints) -> Ints:
        """The number of each row."""
        if not first.size:
            return np.zeros(0, np.int64)
        self._make_room(int(first.max()) + 1, int(second.max()) + 1)
        places = first * self._table.shape[1] + second
        flat = self._table.reshape(-1)
        numbers = flat[places]
        if numbers.min() == _UNKNOWN:
            new = np.unique(places[numbers == _UNKNOWN])
            flat[new] = np.arange(self.count, self.count + new.size)
            self.count += new.size
            numbers = flat[places]
        return np.asarray(numbers, np.int64)

    def parts(self) -> tuple[Ints, Ints]:
        """What stood in the two columns, by number."""
        first, second = np.nonzero(self._table != _UNKNOWN)
        order = np.argsort(self._table[first, second])
        return first[order].astype(np.int64), second[order].astype(np.int64)

    def _make_room(self, first: int, second: int) -> None:
        rows, columns = self._table.shape
        if first <= rows and second <= columns:
            return
        # Names come a few at a time: room for twice as many.
        larger = (2 * first if first > rows else rows, 2 * second if second > columns else columns)
        if larger[0] * larger[1] > _PLACES_MAX:
            raise UsageError(
                f"{first} × {second} names are too many for one task: let Spark spread the run"
                " over several, with --form dataframe"
            )
        table = np.full(larger, _UNKNOWN, np.int32)
        table[:rows, :columns] = self._table
        self._table = table


class Values:
    """Numbers for whole numbers of which there are few, such as epochs."""

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def of(self, values: Ints) -> Ints:
        """The number of each row's value."""
        if values.size and values.min() == values.max():
            return np.full(values.size, self._code(int(values[0])), np.int64)
        distinct, where = np.unique(values, return_inverse=True)
        codes = np.array([self._code(value) for value in distinct.tolist()], np.int64)
        return codes[where] if codes.size else np.zeros(0, np.int64)

    def _code(self, value: int) -> int:
        return self._codes.setdefault(value, len(self._codes))


def grown(array: NDArray[Kind], size: int, fill: int) -> NDArray[Kind]:
    """The same with room for `size` rows, and for as many again so that this is rare."""
    if size <= len(array):
        return array
    larger = np.full((2 * size, *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
