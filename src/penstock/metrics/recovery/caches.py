"""How many messages the repair caches of subscribers may hold: in all, and second by second.

Publishers also keep what they sent; their caches are left out, since the papers have none.
A sample ends the second that it describes. Seconds without a sample have no value.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Ints

_LIMITS: Final = {
    "cache_limit_min": "smallest limit of a subscriber's cache",
    "cache_limit_mean": "mean limit of subscribers' caches",
    "cache_limit_max": "largest limit of a subscriber's cache",
}


class Caches(AdditiveMetric[Batch]):
    """The smallest, mean and largest limit of all caches."""

    READS: ClassVar = {"caches": ("sampled_ns", "node", "publisher", "limit_messages")}
    OUTPUTS: ClassVar = (
        *(
            Output(
                name=name,
                unit="messages",
                kinds=("value", "series"),
                window=Window.AFTER_WARMUP,
                meaning=meaning,
            )
            for name, meaning in _LIMITS.items()
        ),
        Output(
            name="cache_limit_share",
            unit="1",
            window=Window.AFTER_WARMUP,
            meaning="mean limit by largest limit of subscribers' caches",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By second; the last place is for samples after the experiment.
        places = run.seconds + 1
        self._samples: Final = np.zeros(places, np.int64)
        self._total: Final = np.zeros(places, np.int64)
        self._least: Final = np.full(places, np.iinfo(np.int64).max)
        self._most: Final = np.full(places, np.iinfo(np.int64).min)

    def update(self, batch: Batch) -> None:
        """Leaves out what was sampled before the experiment began."""
        sampled_ns = batch.integers("sampled_ns")
        wanted = (sampled_ns > self.run.origin) & ~batch.is_same("node", "publisher")
        limits = batch.integers("limit_messages")[wanted]
        second = np.minimum(self.run.sampled_second(sampled_ns[wanted]), self.run.seconds)
        np.add.at(self._samples, second, 1)
        np.add.at(self._total, second, limits)
        np.minimum.at(self._least, second, limits)
        np.maximum.at(self._most, second, limits)

    def tally(self, out: Tally) -> None:
        """Number, sum, minimum and maximum of the samples of each second."""
        out.add("samples", self._samples)
        out.add("total", self._total)
        out.add("least", self._least, op="min")
        out.add("most", self._most, op="max")

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Nothing where there was no cache."""
        samples, total, least, most = map(tally.get, ("samples", "total", "least", "most"))
        if not samples.any():
            return
        mean, largest = float(total.sum() / samples.sum()), float(most.max())
        for name, limit in zip(_LIMITS, (float(least.min()), mean, largest), strict=True):
            out.add_value(name, limit)
        if largest:
            out.add_value("cache_limit_share", mean / largest)
        inside = slice(run.seconds)
        _report_series(samples[inside], total[inside], least[inside], most[inside], out)


def _report_series(samples: Ints, total: Ints, least: Ints, most: Ints, out: Results) -> None:
    at = np.flatnonzero(samples)
    by_second = (least[at], total[at] / samples[at], most[at])
    for name, limits in zip(_LIMITS, by_second, strict=True):
        out.add_series(name, limits, at=at)
