"""Loss event rates and allowed rates of receivers that learn of losses in different ways.

Looks at one pair: the first publisher of one group and the first subscriber of another. All
receivers get the same arrivals, and the publisher obeys none of them; see `lab.loss_knowledge`. A
*share* compares with the receiver that knows of every loss and goes by the same rule, by their
means over time without the first tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.lab.loss_knowledge import LOSS_KNOWLEDGE, ExpectedMessage, ReplayEstimate, replay
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.message_order import publication_order
from penstock.metrics.pair_groups import PairGroups
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Ints

_IDEAL: Final = "ideal"
_IDEAL_LITERAL: Final = "literal-all"
_SKIPPED: Final = 0.1


class LossEvents(Metric[Batch]):
    """What figure 5.7 of the dissertation shows."""

    READS: ClassVar = {
        "publications": ("publisher", "published_ns"),
        "expected": ("publisher", "epoch", "seq", "subscriber", "published_ns"),
        "arrivals": ("subscriber", "publisher", "epoch", "seq", "arrived_ns"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="loss_event_rate",
            unit="1",
            entity=Entity.SETTING,
            kinds=("value", "series"),
            meaning="loss event rate of a receiver with this knowledge of losses",
        ),
        Output(
            name="allowed_rate",
            unit="/s",
            entity=Entity.SETTING,
            kinds=("value", "series"),
            meaning="messages a second that a receiver with this knowledge of losses allows",
        ),
        Output(
            name="loss_event_share",
            unit="1",
            entity=Entity.SETTING,
            meaning="loss event rate, by that of a receiver that knows of every loss",
        ),
        Output(
            name="allowed_share",
            unit="1",
            entity=Entity.SETTING,
            meaning="allowed rate, by that of a receiver that knows of every loss",
        ),
        Output(
            name="loss_events",
            unit="events",
            entity=Entity.SETTING,
            meaning="loss events that a receiver with this knowledge of losses counts",
        ),
        Output(
            name="losses_known",
            unit="messages",
            entity=Entity.SETTING,
            meaning="lost messages that a receiver with this knowledge of losses knows of",
        ),
    )
    # Of the pair's rows: place in the order of publication, and a time.
    KEEPS_BYTES_PER_ROW: ClassVar = 16

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._pair: Final = PairGroups.first(run)
        self._published = 0
        self._expected: Final = _TimedMessages("published_ns")
        self._arrived: Final = _TimedMessages("arrived_ns")

    def update(self, batch: Batch) -> None:
        """Keeps the rows of the pair."""
        if batch.table.name == "publications":
            has_left = batch.present("published_ns")
            self._published += int((self._pair.is_published(batch) & has_left).sum())
        elif batch.table.name == "expected":
            self._expected.add(batch, self._pair)
        else:
            self._arrived.add(batch, self._pair)

    def finish(self, out: Results) -> None:
        """Reports means over time, and how they compare with those of the ideal receivers."""
        if not (self._pair and self.run.seconds and self.run.has(*self.READS)):
            return
        estimates = self._estimates()
        means = {name: self._means(found) for name, found in estimates.items()}
        for name, found in estimates.items():
            loss_event_rate, allowed_mps = means[name]
            out.add_series("loss_event_rate", [e.loss_event_rate for e in found], entity=name)
            out.add_series("allowed_rate", [e.allowed_mps for e in found], entity=name)
            out.add_value("loss_event_rate", loss_event_rate, entity=name)
            out.add_value("allowed_rate", allowed_mps, entity=name)
            out.add_value("loss_events", found[-1].events, entity=name)
            out.add_value("losses_known", found[-1].losses, entity=name)
            ideal = _IDEAL_LITERAL if LOSS_KNOWLEDGE[name].is_literal else _IDEAL
            ideal_rate, ideal_mps = means[ideal]
            if name != ideal and ideal_rate and ideal_mps:
                out.add_value("loss_event_share", loss_event_rate / ideal_rate, entity=name)
                out.add_value("allowed_share", allowed_mps / ideal_mps, entity=name)

    def _estimates(self) -> dict[str, list[ReplayEstimate]]:
        """Estimates by second of each kind of knowledge."""
        arrived_ns = dict(self._arrived.rows())
        # A publisher that restarts leaves a gap in these numbers that no record spans.
        expected = [
            ExpectedMessage(number, published_ns, arrived_ns.get(number))
            for number, published_ns in self._expected.rows()
        ]
        sent_mps = self._published * SECOND / max(1, self.run.duration)
        return {
            name: replay(knowledge, expected, sent_mps, self.run.origin, self.run.seconds)
            for name, knowledge in LOSS_KNOWLEDGE.items()
        }

    def _means(self, estimates: Sequence[ReplayEstimate]) -> tuple[float, float]:
        """Loss event rate and allowed rate, over time."""
        kept = estimates[round(_SKIPPED * self.run.seconds) :]
        return fmean(e.loss_event_rate for e in kept), fmean(e.allowed_mps for e in kept)


class _TimedMessages:
    """Messages of the pair, each with a time of one column."""

    def __init__(self, time: str) -> None:
        self._time: Final = time
        self._numbers: list[Ints] = []
        self._times: list[Ints] = []

    def add(self, batch: Batch, pair: PairGroups) -> None:
        """Adds the rows of the pair."""
        rows = np.flatnonzero(pair.is_between(batch))
        if rows.size:
            self._numbers.append(publication_order(batch)[rows])
            self._times.append(batch.integers(self._time)[rows])

    def rows(self) -> list[tuple[int, int]]:
        """Each message's place in the order of publication, and its time, by row."""
        if not self._numbers:
            return []
        numbers, times = np.concatenate(self._numbers), np.concatenate(self._times)
        return list(zip(numbers.tolist(), times.tolist(), strict=True))
