"""What hosts say of themselves: how often pubends are told, and how fast the slowest hosts move."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.alert_kind import AlertKind
from penstock.trace.batch import Batch, Floats, Ints

_WHO: Final = {
    AlertKind.NORMAL: "hosts that keep up",
    AlertKind.RECOVERING: "hosts that recover",
}


class Alerts(AdditiveMetric[Batch]):
    """Adds up rows by kind and second.

    Rows of alerts belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"alerts": ("arrived_ns", "kind", "doubt_rate")}
    OUTPUTS: ClassVar = (
        *(
            Output(
                name=f"alerts_{kind}",
                unit="alerts",
                kinds=("value", "series"),
                phased=True,
                meaning=f"alerts and reports of {who} that came to pubends",
            )
            for kind, who in _WHO.items()
        ),
        *(
            Output(
                name=f"alert_rate_{kind}",
                unit="s/s",
                kinds=("series",),
                meaning="how far the doubt horizon of the slowest moves in a second, mean over"
                f" alerts and reports of {who}",
            )
            for kind, who in _WHO.items()
        ),
        *(
            Output(
                name=f"alert_rate_sum_{kind}",
                unit="s/s",
                kinds=("series",),
                meaning=f"sum of these rates of {who}: by the number of alerts it is the mean, of"
                " several seconds or runs as well",
            )
            for kind, who in _WHO.items()
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By kind and second.
        self._counts: Final[dict[AlertKind, Ints]] = {
            kind: np.zeros(run.seconds, np.int64) for kind in AlertKind
        }
        self._rates: Final[dict[AlertKind, Floats]] = {
            kind: np.zeros(run.seconds) for kind in AlertKind
        }

    def update(self, batch: Batch) -> None:
        """Adds the next rows within the experiment."""
        second = self.run.second_of(batch.integers("arrived_ns"))
        inside = (second >= 0) & (second < self.run.seconds)
        for kind in AlertKind:
            own = inside & batch.is_one_of("kind", [kind])
            np.add.at(self._counts[kind], second[own], 1)
            np.add.at(self._rates[kind], second[own], batch.reals("doubt_rate")[own])

    def tally(self, out: Tally) -> None:
        """Numbers and sums of each kind by second."""
        for kind in AlertKind:
            out.add(f"count_{kind}", self._counts[kind])
            out.add(f"rate_{kind}", self._rates[kind])

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """The experiment and each phase; the rate in seconds with any."""
        if not run.has("alerts"):
            return
        for kind in AlertKind:
            counts, rates = tally.get(f"count_{kind}"), tally.get(f"rate_{kind}")
            for phase, low_s, high_s in run.spans():
                count = counts[run.seconds_of(low_s, high_s)].sum()
                out.add_value(f"alerts_{kind}", count, phase=phase)
            out.add_series(f"alerts_{kind}", counts)
            out.add_series(f"alert_rate_sum_{kind}", rates)
            at = np.flatnonzero(counts)
            if at.size:
                out.add_series(f"alert_rate_{kind}", rates[at] / counts[at], at=at)
