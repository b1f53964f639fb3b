"""Column form of the remaining checks of each filter, for thousands of candidates at once.

Every check is an interval test on one entry of a vector `x` that describes the message: `low <=
x[column] <= high`. Entries that a message lacks are NaN in `x` and fail. The candidates are
filtered in `narrow`.

Knows nothing of messages or filters, only of columns, bounds and slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from penstock.content.index.narrow import Narrow
from penstock.content.index.pool import Slots, Spans

# Checks per filter that fit the columns; any others are tested one by one.
DEPTH: Final = 4

_ALWAYS: Final = 0
_NEVER: Final = 1


class Check(Struct, frozen=True, gc=False):
    """`low <= x[column] <= high`."""

    column: int
    low: float
    high: float


_PASS: Final = (_ALWAYS, 0.0, 0.0)


class Columns:
    """Checks by slot, and the vector they are made on."""

    def __init__(self, narrow: Narrow) -> None:
        self._x = np.full(256, np.nan)
        self._x[_ALWAYS] = 0.0
        self._columns_used = 2
        self._columns_free: list[int] = []
        # All checks of a slot are adjacent: most candidates already fail the first.
        self._checks = np.zeros((256, 3 * DEPTH))
        self._unsure = np.zeros(256, np.bool_)
        self._narrow = narrow

    def take_column(self) -> int:
        """A column of `x` for a new kind of entry."""
        if self._columns_free:
            return self._columns_free.pop()
        if self._columns_used == len(self._x):
            self._x = np.concatenate([self._x, np.full(len(self._x), np.nan)])
        self._columns_used += 1
        return self._columns_used - 1

    def free_columns(self, columns: Iterable[int]) -> None:
        """Frees columns that no check uses any more."""
        self._columns_free.extend(columns)

    def put(self, slot: int, checks: Sequence[Check], *, unsure: bool) -> None:
        """Stores the checks of one filter; `unsure` if they do not decide all of it."""
        assert len(checks) <= DEPTH
        if slot == len(self._checks):
            self._checks = np.concatenate([self._checks, np.zeros_like(self._checks)])
            self._unsure = np.concatenate([self._unsure, np.zeros_like(self._unsure)])
        row = [part for check in checks for part in (check.column, check.low, check.high)]
        for _ in range(DEPTH - len(checks)):
            row += _PASS
        self._checks[slot] = row
        self._unsure[slot] = unsure

    def kill(self, slot: int) -> None:
        """Makes the checks of this slot fail until others are put."""
        self._checks[slot, 0] = _NEVER

    def select(
        self, pool: Slots, spans: Spans, columns: list[int], values: list[Any]
    ) -> tuple[Slots, Slots]:
        """The candidates whose checks all hold for this message: the sure and the unsure ones."""
        where, entries = np.array(columns, np.int32), np.array(values, np.float64)
        runs = np.array(spans, np.int32)
        return self._narrow(pool, runs, self._x, where, entries, self._checks, self._unsure)
