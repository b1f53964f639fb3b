"""Rates of guaranteed streams: what is published, and what hosts deliver of what they should."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Entity, Output, share
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.host_output import host_output
from penstock.metrics.streams.second_sums import SecondSums, report_rates
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_COUNTED: Final = ("published_messages", "wanted_messages", "delivered_messages")


class StreamRates(AdditiveMetric[Batch]):
    """Adds up samples of streams by broker and second.

    Rows of streams belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"streams": ("sampled_ns", "broker", *_COUNTED)}
    OUTPUTS: ClassVar = (
        Output(
            name="publish_rate",
            unit="messages/s",
            kinds=("value", "series"),
            phased=True,
            meaning="messages that all brokers together confirmed to publishers",
        ),
        host_output(
            "publish_rate", "messages that this broker confirmed to publishers", unit="messages/s"
        ),
        host_output(
            "reading_rate", "messages that applications got at this broker", unit="messages/s"
        ),
        Output(
            name="reading_share",
            unit="1",
            entity=Entity.HOST,
            phased=True,
            meaning="messages that applications got at this broker by messages published meanwhile"
            " that they want",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "broker", _COUNTED)

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        self._sums.add_batch(batch, _COUNTED)

    def tally(self, out: Tally) -> None:
        """Messages of each broker by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Rates of publishing brokers, then of those with readers."""
        if not run.has("streams"):
            return
        whole = np.zeros(run.seconds, np.int64)
        for broker in tally.names_of_entities(_COUNTED[0]):
            published, wanted, delivered = (tally.get(name, entity=broker) for name in _COUNTED)
            whole += published
            if published.any():
                report_rates(out, "publish_rate", published, run, entity=broker)
            if not (wanted.any() or delivered.any()):
                continue
            report_rates(out, "reading_rate", delivered, run, entity=broker)
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                value = share(delivered[span].sum(), wanted[span].sum())
                out.add_value("reading_share", value, entity=broker, phase=phase)
        report_rates(out, "publish_rate", whole, run)
