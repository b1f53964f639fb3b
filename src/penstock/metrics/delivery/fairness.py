"""How evenly receivers fared: Jain's index over what they received within the experiment.

Everybody counts whom anything was for, or to whom anything came, in each phase as in the whole
experiment. Counts serve as well as rates: the index does not change when all are divided by
the same time.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.fairness.jain import jain
from penstock.metrics.base import AdditiveMetric, Output
from penstock.metrics.codes import NETWORK, grown
from penstock.metrics.delivery.spans import rows_by_span
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Batch, Flags, Ints


class Fairness(AdditiveMetric[Batch | Receipts]):
    """Jain's index of the network and of each ordering."""

    READS: ClassVar = {"expected": ("subscriber",), "receipts": ("ended_ns",)}
    OUTPUTS: ClassVar = (
        Output(
            name="jain",
            unit="1",
            phased=True,
            meaning="Jain's index of messages received: 1 if all receivers get the same, 1/n if"
            " one of n gets everything",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By subscriber.
        self._is_expecting: Flags = np.zeros(0, np.bool_)
        # Rows are subscribers. Columns: all receipts, those in the experiment, in each phase.
        self._width = 2 + len(run.phase_bounds)
        self._received: dict[str, Ints] = {}
        if run.has("arrivals"):
            self._received[NETWORK] = self._nobody()

    def update(self, batch: Batch | Receipts) -> None:
        """Notes who was to get anything, and counts who got how much."""
        if isinstance(batch, Batch):
            subscriber = batch.codes("subscriber")
            self._is_expecting = grown(self._is_expecting, int(subscriber.max()) + 1, 0)
            self._is_expecting[subscriber] = True
            return
        size = len(self.run.codes.names("subscriber"))
        for ordering, where in batch.by_ordering:
            received = grown(self._received.get(ordering, self._nobody()), size, 0)
            self._received[ordering] = received
            its = batch.subscriber[where]
            spans = rows_by_span(self.run, batch.ended_ns[where])
            for column, rows in enumerate((slice(None), *(rows for _, rows in spans))):
                received[:size, column] += np.bincount(its[rows], minlength=size)

    def tally(self, out: Tally) -> None:
        """Names of those who expect anything; counts of those who got anything."""
        names = self.run.codes.names("subscriber")
        expecting = np.flatnonzero(self._is_expecting)
        out.add_entities("expecting", [names[code] for code in expecting.tolist()], expecting)
        for ordering, received in self._received.items():
            there = np.flatnonzero(received[:, 0])
            who = [names[code] for code in there.tolist()]
            out.add_entities("received", who, received[there], ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Reports the index where anybody was to get anything."""
        if not run.has("expected"):
            return
        expecting = tally.entities("expecting").names
        for ordering in tally.orderings("received"):
            received = tally.entities("received", ordering=ordering)
            # Whoever expected something and got nothing counts with 0.
            empty = len({*expecting}.difference(received.names))
            if not empty and not received.names:
                continue
            for column, (phase, *_) in enumerate(run.spans(), start=1):
                # In one order, so that parts add up to the last bit.
                counts = sorted([*received.values[:, column].tolist(), *[0] * empty])
                out.add_value("jain", jain(counts), ordering=ordering, phase=phase)

    def _nobody(self) -> Ints:
        return np.zeros((0, self._width), np.int64)
