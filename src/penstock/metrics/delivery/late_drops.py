"""Late drops: messages that an ordering dropped because they came too late."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.fates import ReceiverFate


class LateDrops(AdditiveMetric[Batch]):
    """Counts the fate `dropped_late`; other messages without a delivery were never there."""

    READS: ClassVar = {"deliveries": ("ordering", "fate")}
    OUTPUTS: ClassVar = (
        Output(
            name="late_drops",
            unit="messages",
            window=Window.RUN,
            meaning="messages that arrived too late for their place in the order and were dropped",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._dropped: Counter[str] = Counter()

    def update(self, batch: Batch) -> None:
        """Counts by ordering; one that drops nothing has a 0."""
        ordering, names = batch.codes("ordering"), batch.names("ordering")
        is_dropped = batch.is_one_of("fate", {ReceiverFate.DROPPED_LATE})
        dropped = np.bincount(ordering[is_dropped], minlength=len(names))
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            self._dropped[names[code]] += int(dropped[code])

    def tally(self, out: Tally) -> None:
        """Of each ordering that the trace names."""
        for ordering, count in self._dropped.items():
            out.add("late_drops", count, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:  # noqa: ARG003
        """Reports the counts."""
        for ordering in tally.orderings("late_drops"):
            count = tally.number("late_drops", ordering=ordering)
            out.add_value("late_drops", count, ordering=ordering)
