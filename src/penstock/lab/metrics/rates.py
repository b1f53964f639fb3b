"""How much is offered, sent, delivered and missed, second by second and phase by phase.

A false negative is a message that a subscriber's exact predicate matches and
that never came to it; it belongs to the second in which it was published.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.lab.metrics.base import Context, Figure, Ints, Metric, has_left, part
from penstock.trace.batch import Batch


class Rates(Metric):
    """Messages offered and sent, deliveries, false negatives."""

    TABLES: ClassVar[tuple[str, ...]] = ("publications", "expected", "arrivals")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        none = np.zeros(context.seconds, np.int64)
        self._sent, self._expected = none, none.copy()
        # By second of delivery, and by second of publication; the last delivery may come later.
        self._delivered, self._reached = none.copy(), none.copy()
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
        published = self.per_second(published_ns)
        if name == "expected":
            self._expected += published
        else:
            self._reached += published
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
            "false_negatives": Figure(expected - deliveries, "deliveries"),
            "false_negative_ratio": Figure(_ratio(expected - deliveries, expected)),
            "receivers_per_message": Figure(_ratio(expected, offered)),
            "delivery_rate_peak": Figure(float(smooth.max()), "/s"),
        }
        for name, (low, high) in self.context.phases().items():
            span = high - low
            reached, wanted = part(self._reached, low, high), part(self._expected, low, high)
            count = int(part(self._delivered, low, high).sum())
            found[f"deliveries.{name}"] = Figure(count, "deliveries")
            found[f"delivery_rate.{name}"] = Figure(count / span, "/s")
            sent = int(part(self._sent, low, high).sum())
            found[f"publication_rate.{name}"] = Figure(sent / span, "/s")
            missed = int(wanted.sum() - reached.sum())
            found[f"false_negative_ratio.{name}"] = Figure(_ratio(missed, int(wanted.sum())))
        return found

    def series(self) -> dict[str, list[float]]:
        """What Figure 3.1b plots."""
        return {
            "sent": list(map(float, self._sent)),
            "deliveries": list(map(float, self._delivered)),
            "false_negatives": list(map(float, self._missed())),
        }

    def _missed(self) -> Ints:
        return np.asarray(self._expected - self._reached)


def _ratio(part_: float, whole: float) -> float:
    return part_ / whole if whole else 0.0
