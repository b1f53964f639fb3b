"""The rows of one table in order of time, a piece at a time.

A trace stands in that order, within each ordering, and this checks that it does.
Where it does not, the table is read whole and put in order: rows of equal time stay
as they stand. Rows that have no time have no place in that order, and keep away
from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.pipeline.kernels.receipts import RECEIPTS, Books
from penstock.pipeline.kernels.rows import Ints, Rows
from penstock.trace.schema import TABLES
from penstock.tracefile.arrow import ArrowTable
from penstock.tracefile.reader import TraceReader


class UnsortedError(Exception):
    """Rows do not stand in order of time."""


class Pieces:
    """One table of one run; the order is that of rows only where metrics depend on it."""

    def __init__(
        self, reader: TraceReader, table: str, run: str, piece_rows: int, *, is_sorted: bool
    ) -> None:
        self.table: Final = table
        # How many rows came after a later one, by ordering.
        self.unsorted: Final[Counter[str]] = Counter()
        self._reader, self._run, self._piece_rows = reader, run, piece_rows
        self._is_sorted = is_sorted

    def rows(self, books: Books) -> Iterator[Rows]:
        """Pieces that have a row at least."""
        clock = _Clock(self.table) if self.table in RECEIPTS and self._is_sorted else None
        for found in self._found() if self._is_sorted else self._put_in_order():
            if found.num_rows:
                rows = Rows(self.table, found, books.names)
                if clock is not None and clock.falls(rows):
                    raise UnsortedError
                yield rows

    def _found(self) -> Iterator[ArrowTable]:
        record = TABLES[self.table].record
        return self._reader.pieces(record, self._run, rows=self._piece_rows)

    def _put_in_order(self) -> Iterator[ArrowTable]:
        found = self._reader.table(TABLES[self.table].record, self._run)
        books = Books()
        rows = Rows(self.table, found, books.names)
        for code, count in _Clock(self.table).falls(rows).items():
            self.unsorted[books.ordering_name(code)] += count
        order = np.argsort(rows.integers(_time_of(self.table)), kind="stable")
        for start in range(0, len(order), self._piece_rows):
            yield found.take(order[start : start + self._piece_rows])


def order_columns(table: str) -> set[str]:
    """The columns that the order of a table is checked by."""
    within = TABLES[table].within
    return {_time_of(table)} if within is None else {_time_of(table), within}


class _Clock:
    """Sees whether times fall; remembers the last of each ordering."""

    def __init__(self, table: str) -> None:
        self._time: Final = _time_of(table)
        self._within: Final = TABLES[table].within
        self._last: dict[int, int] = {}

    def falls(self, rows: Rows) -> Counter[int]:
        """How many rows come after a later one, of each ordering that has such."""
        times, has_time = rows.integers(self._time), rows.present(self._time)
        nothing = np.zeros(rows.count, np.int64)
        codes = nothing if self._within is None else rows.codes(self._within)
        found: Counter[int] = Counter()
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            if count := self._falls_of(code, times[(codes == code) & has_time]):
                found[code] = count
        return found

    def _falls_of(self, code: int, times: Ints) -> int:
        if not times.size:
            return 0
        before = np.append(self._last.get(code, int(times[0])), times[:-1])
        self._last[code] = int(times[-1])
        return int((times < before).sum())


def _time_of(table: str) -> str:
    time = TABLES[table].time
    assert time is not None
    return time
