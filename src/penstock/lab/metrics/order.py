"""Violations of order among what arrives: after a higher number of the same publisher."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.lab.metrics.base import (
    Context,
    Figure,
    Floats,
    Ints,
    Metric,
    correlation,
    part,
)
from penstock.lab.metrics.codes import PairNumbers
from penstock.metrics.laws.violations import RunningMaximum
from penstock.trace.batch import Batch


class Order(Metric):
    """Violations, and how they go with deliveries."""

    TABLES: ClassVar[tuple[str, ...]] = ("arrivals",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._order = RunningMaximum()
        self._pairs = PairNumbers()
        self._late = np.zeros(context.seconds, np.int64)
        self._all = np.zeros(context.seconds, np.int64)

    def take(self, batch: Batch) -> None:
        """Each arrival against the highest number before it."""
        late = self._order.feed(self._pairs.of(batch), batch.columns["seq"].values)
        arrived = batch.columns["arrived_ns"].values
        self._late += self.per_second(arrived[late])
        self._all += self.per_second(arrived)

    def figures(self) -> dict[str, Figure]:
        """Totals, the correlation over windows, then each phase."""
        found = {
            "violations": Figure(self._order.late, "messages"),
            "violation_ratio": Figure(self._order.late / max(1, self._order.rows)),
            "violations_with_deliveries": Figure(
                correlation(self._windows(self._late), self._windows(self._all))
            ),
        }
        for name, (low, high) in self.context.phases().items():
            late = int(part(self._late, low, high).sum())
            everything = int(part(self._all, low, high).sum())
            found[f"violation_ratio.{name}"] = Figure(late / max(1, everything))
        return found

    def series(self) -> dict[str, list[float]]:
        """What Figure 3.2 plots."""
        return {"violations": list(map(float, self._late))}

    def _windows(self, values: Ints) -> Floats:
        width = self.context.window_s
        whole = len(values) // width * width
        means: Floats = values[:whole].reshape(-1, width).mean(axis=1)
        return means
