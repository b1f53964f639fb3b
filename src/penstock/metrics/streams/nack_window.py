"""How far ahead of their doubt horizons hosts ask for repairs."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.host_output import host_output
from penstock.metrics.streams.second_sums import SecondSums, report_seconds
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_AMOUNTS: Final = ("nack_window_ns", "samples")


class NackWindow(AdditiveMetric[Batch]):
    """Takes the mean over the samples of all pubends of a broker.

    Rows of streams belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"streams": ("sampled_ns", "broker", "nack_window_ns")}
    OUTPUTS: ClassVar = (
        host_output(
            "nack_window",
            "how far ahead of doubt horizons a broker's readers ask for repairs",
            unit="s",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "broker", _AMOUNTS)

    def update(self, batch: Batch) -> None:
        """Adds the next samples of pubends that are read."""
        is_read = batch.present("nack_window_ns").astype(np.int64)
        self._sums.add_batch(batch, ["nack_window_ns"], samples=is_read)

    def tally(self, out: Tally) -> None:
        """Sums and samples of each broker by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Of each broker with readers: seconds, the experiment and each phase."""
        for broker in tally.names_of_entities("samples"):
            window_ns, samples = (tally.get(name, entity=broker) for name in _AMOUNTS)
            at = np.flatnonzero(samples)
            means_s = window_ns[at] / samples[at] / SECOND
            report_seconds(out, "nack_window", means_s, at, run, entity=broker)
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                count = samples[span].sum()
                if count:
                    mean_s = window_ns[span].sum() / count / SECOND
                    out.add_value("nack_window", mean_s, entity=broker, phase=phase)
