"""How much of what publishers want they may publish, and how evenly pubends share it."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.fairness.jain import jain
from penstock.metrics.base import AdditiveMetric, Output, share
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.second_sums import SecondSums
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_COUNTED: Final = ("published_messages", "demanded_messages")


class PublishShares(AdditiveMetric[Batch]):
    """Adds up samples by pubend and second, of brokers where it is known what publishers want.

    Rows of streams belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"streams": ("sampled_ns", "pubend", *_COUNTED)}
    OUTPUTS: ClassVar = (
        Output(
            name="publish_share",
            unit="1",
            phased=True,
            meaning="messages confirmed to publishers by messages that they would have published",
        ),
        Output(
            name="publish_jain",
            unit="1",
            phased=True,
            meaning="Jain's index over pubends of messages confirmed to publishers",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "pubend", _COUNTED)

    def update(self, batch: Batch) -> None:
        """Adds the next samples of brokers with publishers."""
        self._sums.add_batch(batch.select(batch.present("demanded_messages")), _COUNTED)

    def tally(self, out: Tally) -> None:
        """Messages of each pubend by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """The experiment and each phase, as far as anybody wanted to publish."""
        pubends = tally.names_of_entities("demanded_messages")
        for phase, low_s, high_s in run.spans():
            span = run.seconds_of(low_s, high_s)
            published, demanded = (
                np.array([tally.get(name, entity=pubend)[span].sum() for pubend in pubends])
                for name in _COUNTED
            )
            if demanded.any():
                value = share(published.sum(), demanded.sum())
                out.add_value("publish_share", value, phase=phase)
                out.add_value("publish_jain", jain(published), phase=phase)
