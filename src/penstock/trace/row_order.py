"""Checks that a table's rows are in the order of events.

Order violations and rates are computed in one pass over the rows as they are, so that a table
out of order would give wrong results without an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.trace.batch import Batch
from penstock.trace.schema import Table


class RowOrderCheck:
    """Checks all batches of one table."""

    __slots__ = ("_last", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        # The latest time so far, by code of the `within` column; the only key is 0 without one.
        self._last: dict[int, int] = {}

    def is_ordered(self, batch: Batch) -> bool:
        """Whether these rows continue in order; nulls may be anywhere."""
        time, within = self._table.time, self._table.within
        if time is None:
            return True
        packed = batch.columns[time]
        times, valid = packed.values, packed.valid
        if within is None:
            return self._is_rising(0, times if valid is None else times[valid])
        groups = batch.columns[within].values
        if valid is not None:
            times, groups = times[valid], groups[valid]
        # Codes are small integers: counting them is far faster than sorting.
        used = np.flatnonzero(np.bincount(groups)).tolist()
        return all(self._is_rising(group, times[groups == group]) for group in used)

    def _is_rising(self, group: int, times: NDArray[np.int64]) -> bool:
        if not len(times):
            return True
        before, self._last[group] = self._last.get(group, times[0]), int(times[-1])
        return bool(before <= times[0] and (times[1:] >= times[:-1]).all())
