"""How much was expected and received, in all, second by second and phase by phase.

Deliveries of the network ("") are arrivals; those of an ordering are what it gave to the
application.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window, share
from penstock.metrics.codes import NETWORK
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Batch, Floats, Ints


class Received(AdditiveMetric[Batch | Receipts]):
    """Counts and rates of expected rows, publications and deliveries."""

    READS: ClassVar = {
        "publications": ("published_ns",),
        "expected": ("published_ns",),
        "receipts": ("ended_ns",),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="expected",
            unit="deliveries",
            window=Window.RUN,
            meaning="deliveries due: messages, each times the subscribers whose filters match it",
        ),
        Output(
            name="receivers_per_message",
            unit="1",
            window=Window.RUN,
            meaning="deliveries due by messages that applications offered",
        ),
        Output(
            name="deliveries",
            unit="deliveries",
            kinds=("value", "series"),
            window=Window.RUN,
            phased=True,
            meaning="messages that arrived, or that an ordering gave to the application",
        ),
        Output(
            name="delivery_rate",
            unit="/s",
            phased=True,
            meaning="deliveries per second",
        ),
        Output(
            name="delivery_rate_peak",
            unit="/s",
            meaning="highest rate of deliveries, smoothed over a sixtieth of the experiment",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._rows = {"publications": 0, "expected": 0}
        # By ordering and second.
        self._deliveries: dict[str, Ints] = {}
        if run.has("arrivals"):
            self._deliveries[NETWORK] = run.per_second(np.zeros(0, np.int64))

    def update(self, batch: Batch | Receipts) -> None:
        """Counts rows."""
        if isinstance(batch, Batch):
            self._rows[batch.table.name] += batch.rows
            return
        for ordering, where in batch.by_ordering:
            by_second = self.run.per_second(batch.ended_ns[where])
            self._deliveries[ordering] = by_second + self._deliveries.get(ordering, 0)

    def tally(self, out: Tally) -> None:
        """Of the run, then of each ordering."""
        for table, rows in self._rows.items():
            out.add(table, rows)
        for ordering, by_second in self._deliveries.items():
            out.add("deliveries", by_second, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Counts where the tables were recorded, then deliveries of each ordering."""
        expected = tally.number("expected")
        if run.has("expected"):
            out.add_value("expected", expected)
        if run.has("publications", "expected"):
            receivers = share(expected, tally.number("publications"))
            out.add_value("receivers_per_message", receivers)
        for ordering in tally.orderings("deliveries"):
            deliveries = tally.get("deliveries", ordering=ordering)
            out.add_series("deliveries", deliveries[:-1], ordering=ordering)
            for phase, part in run.phases(whole=slice(None)):
                count = deliveries[part].sum()
                out.add_value("deliveries", count, ordering=ordering, phase=phase)
            for phase, low_s, high_s in run.spans():
                count = deliveries[run.seconds_of(low_s, high_s)].sum()
                rate = share(count, high_s - low_s)
                out.add_value("delivery_rate", rate, ordering=ordering, phase=phase)
            if run.seconds:
                peak = _smoothed(deliveries[:-1], run.window_s).max()
                out.add_value("delivery_rate_peak", peak, ordering=ordering)


def _smoothed(by_second: Ints, width_s: int) -> Floats:
    """Means over all windows of this width."""
    return np.convolve(by_second, np.ones(width_s) / width_s, mode="valid")
