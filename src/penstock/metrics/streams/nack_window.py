"""How far ahead of their doubt horizons hosts ask for repairs."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric, Entity, Output
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.second_sums import SecondSums
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_AMOUNTS: Final = ("nack_window_ns", "samples")


class NackWindow(AdditiveMetric[Batch]):
    """Takes the mean over the samples of all pubends of a broker.

    Rows of streams belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"streams": ("sampled_ns", "broker", "nack_window_ns")}
    OUTPUTS: ClassVar = (
        Output(
            name="nack_window",
            unit="s",
            entity=Entity.HOST,
            kinds=("value", "series"),
            phased=True,
            meaning="how far ahead of doubt horizons a broker's readers ask for repairs",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, _AMOUNTS)

    def update(self, batch: Batch) -> None:
        """Adds the next samples of pubends that are read."""
        self._sums.add(
            batch.codes("broker"),
            batch.integers("sampled_ns"),
            nack_window_ns=batch.integers("nack_window_ns"),
            samples=batch.present("nack_window_ns").astype(np.int64),
        )

    def tally(self, out: Tally) -> None:
        """Sums and samples of each broker by second."""
        self._sums.tally(self.run.codes.names("broker"), out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Of each broker with readers: seconds, the experiment and each phase."""
        for broker in tally.names_of_entities("samples"):
            window_ns, samples = (tally.get(name, entity=broker) for name in _AMOUNTS)
            at = np.flatnonzero(samples)
            # As nearly always, there is a sample in every second.
            holes = at if at.size < run.seconds else None
            means_s = window_ns[at] / samples[at] / SECOND
            out.add_series("nack_window", means_s, at=holes, entity=broker)
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                count = samples[span].sum()
                if count:
                    mean_s = window_ns[span].sum() / count / SECOND
                    out.add_value("nack_window", mean_s, entity=broker, phase=phase)
