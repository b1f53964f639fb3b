"""Packets that the network dropped, by reason, and the packets with messages among them.

A duplicate that is dropped is no loss: another copy came before it. One packet may be for several
receivers, so that a lost packet may be the cause of several false negatives.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Ints
from penstock.trace.fates import DropReason

_LOSSES: Final = tuple(reason for reason in DropReason if reason is not DropReason.DUPLICATE)


class Drops(AdditiveMetric[Batch]):
    """Counts rows by reason; those with a publisher carried a message."""

    READS: ClassVar = {"drops": ("dropped_ns", "reason", "publisher")}
    OUTPUTS: ClassVar = (
        Output(
            name="drops",
            unit="packets",
            entity=Entity.REASON,
            window=Window.RUN,
            meaning="packets that the network dropped for a reason",
        ),
        Output(
            name="lost",
            unit="packets",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="packets with messages that the network dropped, without duplicates",
        ),
        Output(
            name="lost",
            unit="packets",
            entity=Entity.REASON,
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="packets with messages that the network dropped for a reason",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By reason.
        self._dropped: Counter[str] = Counter()
        self._lost_per_second: dict[str, Ints] = {}

    def update(self, batch: Batch) -> None:
        """Counts the next rows."""
        reason, names = batch.codes("reason"), batch.names("reason")
        dropped_ns, is_message = batch.integers("dropped_ns"), batch.present("publisher")
        for code in np.flatnonzero(np.bincount(reason)).tolist():
            name, is_own = names[code], reason == code
            self._dropped[name] += int(np.count_nonzero(is_own))
            lost_ns = dropped_ns[is_own & is_message]
            if lost_ns.size and name in _LOSSES:
                lost = self.run.per_second(lost_ns)
                self._lost_per_second[name] = lost + self._lost_per_second.get(name, 0)

    def tally(self, out: Tally) -> None:
        """By reason, of those that occurred."""
        for reason, count in self._dropped.items():
            out.add("drops", count, entity=reason)
        for reason, per_second in self._lost_per_second.items():
            out.add("lost", per_second, entity=reason)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Reports every reason, 0 for those that did not occur."""
        if not run.has("drops"):
            return
        for reason in DropReason:
            out.add_value("drops", tally.number("drops", entity=reason), entity=reason)
        total = np.zeros(run.seconds + 1, np.int64)
        for reason in _LOSSES:
            lost = tally.get("lost", entity=reason)
            out.add_value("lost", lost.sum(), entity=reason)
            if lost.size:
                out.add_series("lost", lost[:-1], entity=reason)
                total = total + lost
        out.add_value("lost", total.sum())
        out.add_series("lost", total[:-1])
