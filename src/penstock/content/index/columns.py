"""What is left to check of each filter, in columns, for thousands of candidates at once.

Every check is an interval test on one entry of a vector `x` that describes the
message: `low <= x[column] <= high`. Entries are numbers as they are, codes for
strings and booleans that some filter compares with, and marks for attributes
and text patterns that are present; whatever a message lacks is NaN and fails.

Knows nothing of messages or filters, only of columns, bounds and slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Slots: TypeAlias = NDArray[np.int32]

# Checks held in columns for each filter; what does not fit is verified one by one.
DEPTH: Final = 4

# So few that narrowing further costs more than testing them one by one.
FEW: Final = 24

_ALWAYS: Final = 0
_NEVER: Final = 1
_GROWTH: Final = 1024


@dataclass(frozen=True, slots=True)
class Check:
    """`low <= x[column] <= high`."""

    column: int
    low: float
    high: float


ALWAYS: Final = Check(_ALWAYS, 0.0, 0.0)
NEVER: Final = Check(_NEVER, 0.0, 0.0)


class Columns:
    """Checks by slot, and the vector they are tested on."""

    def __init__(self) -> None:
        self._x = np.full(_GROWTH, np.nan)
        self._x[_ALWAYS] = 0.0
        self._columns_used = 2
        self._columns_free: list[int] = []
        self._column = np.zeros((DEPTH, _GROWTH), np.int32)
        self._low = np.zeros((DEPTH, _GROWTH))
        self._high = np.zeros((DEPTH, _GROWTH))

    @property
    def nbytes(self) -> int:
        """Memory held by the arrays."""
        return self._x.nbytes + self._column.nbytes + self._low.nbytes + self._high.nbytes

    def take_column(self) -> int:
        """A column of `x` for a new kind of entry."""
        if self._columns_free:
            return self._columns_free.pop()
        if self._columns_used == len(self._x):
            self._x = np.concatenate([self._x, np.full(len(self._x), np.nan)])
        self._columns_used += 1
        return self._columns_used - 1

    def free_columns(self, columns: Iterable[int]) -> None:
        """Takes back columns that no check names any more."""
        self._columns_free.extend(columns)

    def put(self, slot: int, checks: list[Check]) -> None:
        """Stores the checks of one filter."""
        assert len(checks) <= DEPTH
        if slot >= self._column.shape[1]:
            self._grow()
        for depth in range(DEPTH):
            check = checks[depth] if depth < len(checks) else ALWAYS
            self._column[depth, slot] = check.column
            self._low[depth, slot] = check.low
            self._high[depth, slot] = check.high

    def kill(self, slot: int) -> None:
        """Makes every test of this slot fail, until it is put anew."""
        self._column[0, slot] = _NEVER

    def select(self, slots: Slots, columns: list[int], values: list[Any]) -> Slots:
        """Those of `slots` whose checks hold for a message with these entries.

        Stops early when only `FEW` are left, whose later checks were then not made.
        """
        x = self._x
        x[columns] = values
        for column, low, high in zip(self._column, self._low, self._high, strict=True):
            entry = x.take(column.take(slots))
            holds = entry >= low.take(slots)
            holds &= entry <= high.take(slots)
            slots = slots.compress(holds)
            if len(slots) <= FEW:
                break
        x[columns] = np.nan
        return slots

    def _grow(self) -> None:
        for name in ("_column", "_low", "_high"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=1))
