"""How much is offered, sent, delivered and missed, second by second and phase by phase.

A false negative is a message that a subscriber's exact predicate matches and
that never came to it; it belongs to the second in which it was published.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from penstock.lab.metrics.base import Context, Figure, Ints, Metric, has_left, part
from penstock.lab.metrics.ledger import Ledger
from penstock.trace.batch import Batch


class Rates(Metric):
    """Messages offered and sent, deliveries, false negatives."""

    TABLES: ClassVar[tuple[str, ...]] = ("publications", "expected", "arrivals")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        none = np.zeros(context.seconds, np.int64)
        self._sent, self._expected = none, none.copy()
        self._delivered = none.copy()
        self._ledger = Ledger()
        self._totals = {"publications": 0, "expected": 0, "arrivals": 0}

    def take(self, batch: Batch) -> None:
        """Counts."""
        name = batch.table.name
        self._totals[name] += batch.rows
        published_ns = batch.columns["published_ns"].values
        if name == "publications":
            # What never left was sent in no second.
            self._sent += self.per_second(published_ns[has_left(batch)])
            return
        if name == "expected":
            self._expected += self.per_second(published_ns)
            self._ledger.expect(batch)
        else:
            self._ledger.receive(batch)
            self._delivered += self.per_second(batch.columns["arrived_ns"].values)

    def figures(self) -> dict[str, Figure]:
        """Totals, then each phase."""
        offered, expected = self._totals["publications"], self._totals["expected"]
        deliveries = self._totals["arrivals"]
        window = self.context.window_s
        smooth = np.convolve(self._delivered, np.ones(window) / window, mode="valid")
        found = {
            "offered": Figure(offered, "messages"),
            "expected": Figure(expected, "deliveries"),
            "deliveries": Figure(deliveries, "deliveries"),
            "false_negatives": Figure(self._missed_ns.size, "deliveries"),
            "false_negative_ratio": Figure(_ratio(self._missed_ns.size, expected)),
            "receivers_per_message": Figure(_ratio(expected, offered)),
            "delivery_rate_peak": Figure(float(smooth.max()), "/s"),
        }
        missed_by_second = self.per_second(self._missed_ns)
        for name, (low, high) in self.context.phases().items():
            span = high - low
            missed, wanted = part(missed_by_second, low, high), part(self._expected, low, high)
            count = int(part(self._delivered, low, high).sum())
            found[f"deliveries.{name}"] = Figure(count, "deliveries")
            found[f"delivery_rate.{name}"] = Figure(count / span, "/s")
            sent = int(part(self._sent, low, high).sum())
            found[f"publication_rate.{name}"] = Figure(sent / span, "/s")
            ratio = _ratio(int(missed.sum()), int(wanted.sum()))
            found[f"false_negative_ratio.{name}"] = Figure(ratio)
        return found

    def series(self) -> dict[str, list[float]]:
        """What Figure 3.1b plots."""
        return {
            "sent": list(map(float, self._sent)),
            "deliveries": list(map(float, self._delivered)),
            "false_negatives": list(map(float, self.per_second(self._missed_ns))),
        }

    @cached_property
    def _missed_ns(self) -> Ints:
        return self._ledger.missed_ns()


def _ratio(part_: float, whole: float) -> float:
    return part_ / whole if whole else 0.0
