"""What groups of receivers get for themselves, and what they share with other groups.

A message belongs to one group alone if no subscriber of another wants it. Where a publisher
slows down what one group cannot bear, only what others share with it should become less.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from penstock.lab.metrics.base import Context, Figure, Ints, Metric, spread
from penstock.lab.metrics.codes import NameNumbers
from penstock.trace.batch import Batch

_PUBLISHER_SHIFT: Final = 32
_NOBODY: Final = -1


class Overlap(Metric):
    """Deliveries a second of each group: its own, and those that others want too."""

    TABLES: ClassVar[tuple[str, ...]] = ("expected", "arrivals")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._groups = list(context.members)
        self._group_of = {
            name: number
            for number, group in enumerate(self._groups)
            for name in context.members[group]
        }
        self._publishers = NameNumbers()
        self._wanted: list[Ints] = []
        self._wanted_by: list[Ints] = []
        self._came: list[Ints] = []
        self._came_to: list[Ints] = []
        self._came_s: list[Ints] = []

    def take(self, batch: Batch) -> None:
        """Keeps which groups want each message, and which get it when."""
        columns = batch.columns
        messages = (
            self._publishers.of(columns["publisher"]) << _PUBLISHER_SHIFT | columns["seq"].values
        )
        names = columns["subscriber"].names or []
        groups = np.array([self._group_of.get(name, _NOBODY) for name in names], np.int64)
        own = groups[columns["subscriber"].values]
        if batch.table.name == "expected":
            self._wanted.append(messages)
            self._wanted_by.append(own)
        else:
            self._came.append(messages)
            self._came_to.append(own)
            self._came_s.append(self.seconds_of(columns["arrived_ns"].values))

    def figures(self) -> dict[str, Figure]:
        """Of the whole run, and of each phase."""
        whole = (0.0, float(self.context.seconds))
        counts = list(self._counts())
        found = {}
        for phase, (low, high) in {"": whole, **self.context.phases()}.items():
            ending = f".{phase}" if phase else ""
            for name, seconds in counts:
                rate = seconds[round(low) : round(high)].sum() / (high - low)
                found[f"{name}{ending}"] = Figure(float(rate), "/s")
        return found

    def series(self) -> dict[str, list[float]]:
        """Second by second."""
        return {name: list(map(float, seconds)) for name, seconds in self._counts()}

    def _counts(self) -> Iterator[tuple[str, Ints]]:
        """Of each group that wants anything, its own deliveries by second, then the others."""
        wanted, wanted_by = spread(self._wanted), spread(self._wanted_by)
        came, came_to = spread(self._came), spread(self._came_to)
        came_s = spread(self._came_s)
        inside = (came_s >= 0) & (came_s < self.context.seconds)
        for number, group in enumerate(self._groups):
            if not (wanted_by == number).any():
                continue
            is_ours = inside & (came_to == number)
            is_shared = np.isin(came, wanted[wanted_by != number])
            for name, rows in (("own_rate", ~is_shared), ("shared_rate", is_shared)):
                seconds = np.bincount(came_s[is_ours & rows], minlength=self.context.seconds)
                yield f"{name}.{group}", seconds
