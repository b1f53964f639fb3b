"""Numbers for names: a batch has its own for every column, which mean nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from penstock.lab.metrics.base import Ints
from penstock.trace.batch import Batch, PackedColumn

_UNKNOWN: Final = -1


class PairNumbers:
    """Numbers publisher and subscriber together, from 0 and as they appear.

    For batches of one table: of all pairs that could be, few ever are.
    """

    __slots__ = ("_table", "count")

    def __init__(self) -> None:
        self._table = np.full((0, 0), _UNKNOWN, np.int64)
        self.count = 0

    def of(self, batch: Batch) -> Ints:
        """The number of each row."""
        publishers, subscribers = batch.columns["publisher"], batch.columns["subscriber"]
        self._make_room(len(publishers.names or ()), len(subscribers.names or ()))
        numbers: Ints = self._table[publishers.values, subscribers.values]
        if numbers.min(initial=0) == _UNKNOWN:
            for row in np.flatnonzero(numbers == _UNKNOWN).tolist():
                place = publishers.values[row], subscribers.values[row]
                if self._table[place] == _UNKNOWN:
                    self._table[place] = self.count
                    self.count += 1
            numbers = self._table[publishers.values, subscribers.values]
        return numbers

    def _make_room(self, publishers: int, subscribers: int) -> None:
        rows, columns = self._table.shape
        if publishers > rows or subscribers > columns:
            # Names come a few at a time: room for twice as many.
            larger = (
                max(rows, 2 * publishers if publishers > rows else 0),
                max(columns, 2 * subscribers if subscribers > columns else 0),
            )
            table = np.full(larger, _UNKNOWN, np.int64)
            table[:rows, :columns] = self._table
            self._table = table


class FlowNumbers:
    """Numbers publisher, epoch and subscriber together, from 0 and alike in every table."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int, str], int] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._numbers)

    def of(self, batch: Batch) -> Ints:
        """The number of each row."""
        publishers, subscribers = batch.columns["publisher"], batch.columns["subscriber"]
        epochs, epoch = np.unique(batch.columns["epoch"].values, return_inverse=True)
        names = publishers.names or [], subscribers.names or []
        codes = publishers.values.astype(np.int64) * len(names[1]) + subscribers.values
        flows, where = np.unique(codes * len(epochs) + epoch, return_inverse=True)
        numbers = np.empty(len(flows), np.int64)
        for place, flow in enumerate(flows.tolist()):
            code, epoch_code = divmod(flow, len(epochs))
            publisher, subscriber = divmod(code, len(names[1]))
            key = names[0][publisher], int(epochs[epoch_code]), names[1][subscriber]
            numbers[place] = self._numbers.setdefault(key, len(self._numbers))
        found: Ints = numbers[where]
        return found


class NameNumbers:
    """Numbers names alike in every table."""

    __slots__ = ("_numbers",)

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._numbers = {name: number for number, name in enumerate(known)}

    def of(self, packed: PackedColumn) -> Ints:
        """The number of each row's name."""
        assert packed.names is not None
        numbers = self._numbers
        table = np.array([numbers.setdefault(n, len(numbers)) for n in packed.names], np.int64)
        found: Ints = table[packed.values]
        return found
