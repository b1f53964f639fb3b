"""Doubt horizons of hosts: how far they are behind, and how fast they move.

Up to its doubt horizon a host knows all of a pubend. One that keeps up moves as time does, by one
second each second, whatever is published; one that recovers moves faster.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric, Entity, Output
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.host_output import host_output
from penstock.metrics.streams.second_sums import SecondSums, report_seconds
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_AMOUNTS: Final = ("behind_ns", "samples")


class DoubtHorizon(AdditiveMetric[Batch]):
    """Takes the mean over the pubends of a broker.

    Rows of streams belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"streams": ("sampled_ns", "broker", "behind_ns", "doubt_rate")}
    OUTPUTS: ClassVar = (
        host_output(
            "doubt_behind",
            "how far doubt horizons of a broker's readers are behind the clock",
            unit="s",
        ),
        host_output(
            "doubt_rate",
            "how far doubt horizons of a broker's readers move in a second",
            unit="s/s",
        ),
        Output(
            name="doubt_rate_smooth",
            unit="s/s",
            entity=Entity.HOST,
            kinds=("series",),
            meaning="the same as the broker itself smooths it",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "broker", [*_AMOUNTS, "rated"], reals=["doubt_rate"])

    def update(self, batch: Batch) -> None:
        """Adds the next samples of pubends that are read."""
        self._sums.add_batch(
            batch,
            ["behind_ns"],
            samples=batch.present("behind_ns").astype(np.int64),
            doubt_rate=batch.reals("doubt_rate"),
            rated=batch.present("doubt_rate").astype(np.int64),
        )

    def tally(self, out: Tally) -> None:
        """Sums and samples of each broker by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Of each broker with readers: seconds, the experiment and each phase."""
        if not run.has("streams"):
            return
        for broker in tally.names_of_entities("samples"):
            behind_ns, samples = (tally.get(name, entity=broker) for name in _AMOUNTS)
            at = np.flatnonzero(samples)
            if not at.size:
                continue
            behind_s = behind_ns[at] / samples[at] / SECOND
            report_seconds(out, "doubt_behind", behind_s, at, run, entity=broker)
            rate, rated = (tally.get(name, entity=broker) for name in ("doubt_rate", "rated"))
            if rated.any():
                where = np.flatnonzero(rated)
                means = rate[where] / rated[where]
                report_seconds(out, "doubt_rate_smooth", means, where, run, entity=broker)
            moved = 1 - np.diff(behind_s)
            follows = np.diff(at) == 1
            if follows.any():
                out.add_series("doubt_rate", moved[follows], at=at[1:][follows], entity=broker)
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                own = (at >= span.start) & (at < span.stop)
                its, its_s = at[own], behind_s[own]
                if its.size:
                    out.add_value("doubt_behind", its_s.mean(), entity=broker, phase=phase)
                if its.size > 1:
                    moved_s = its[-1] - its[0] - (its_s[-1] - its_s[0])
                    value = moved_s / (its[-1] - its[0])
                    out.add_value("doubt_rate", value, entity=broker, phase=phase)
