"""What becomes of messages at their publishers, before the network sees them.

A message is *offered* by its application, and *sent* when it leaves. It was *rate-limited* if it
had to wait before, and *dropped at source* if it never left because too many waited. One that
still waits when the run ends is offered, and nothing else. What left counts in the second in which
it left, all else in the second in which it was offered.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import AdditiveMetric, Output, Window, share
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch
from penstock.trace.fates import PublisherFate

_FATES: Final = ("offered", "sent", "rate_limited", "dropped_at_source")


class SourceFates(AdditiveMetric[Batch]):
    """Messages by their fate at the source, and how long they waited there."""

    READS: ClassVar = {"publications": ("offered_ns", "published_ns", "fate")}
    OUTPUTS: ClassVar = (
        Output(
            name="offered",
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="messages that applications gave to their publishers",
        ),
        Output(
            name="sent",
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="messages that left their publishers",
        ),
        Output(
            name="rate_limited",
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="messages that left only after congestion control had held them back",
        ),
        Output(
            name="dropped_at_source",
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="messages that never left because too many were waiting",
        ),
        Output(
            name="held_mean",
            unit="ms",
            window=Window.RUN,
            meaning="mean time that sent messages had waited at their publishers",
        ),
        Output(
            name="publication_rate",
            unit="/s",
            phased=True,
            meaning="messages sent per second, of each phase",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._by_second = {fate: np.zeros(run.seconds + 1, np.int64) for fate in _FATES}
        # Total waiting time of the messages that left.
        self._held_ns = 0

    def update(self, batch: Batch) -> None:
        """Counts what left when it left, and everything else when it was offered."""
        offered_ns, published_ns = batch.integers("offered_ns"), batch.integers("published_ns")
        left = batch.present("published_ns")
        limited = left & batch.is_one_of("fate", {PublisherFate.RATE_LIMITED})
        dropped = batch.is_one_of("fate", {PublisherFate.DROPPED_AT_SOURCE})
        instants = (offered_ns, published_ns[left], published_ns[limited], offered_ns[dropped])
        for fate, own in zip(_FATES, instants, strict=True):
            self._by_second[fate] += self.run.per_second(own)
        self._held_ns += int((published_ns - offered_ns)[left].sum())

    def tally(self, out: Tally) -> None:
        """Counts by second, and the time that messages waited."""
        for fate, by_second in self._by_second.items():
            out.add(fate, by_second)
        out.add("held_ns", self._held_ns)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Totals of the whole run, seconds of the experiment, and the rate of each phase."""
        if not run.has("publications"):
            return
        for fate in _FATES:
            out.add_value(fate, tally.get(fate).sum())
            out.add_series(fate, tally.get(fate)[:-1])
        sent = tally.get("sent")
        held_ns = share(tally.number("held_ns"), sent.sum())
        out.add_value("held_mean", held_ns / MILLISECOND)
        for phase, (low_s, high_s) in run.phase_bounds.items():
            count = sent[:-1][round(low_s) : round(high_s)].sum()
            out.add_value("publication_rate", share(count, high_s - low_s), phase=phase)
