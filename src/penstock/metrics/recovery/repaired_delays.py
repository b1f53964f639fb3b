"""Repairs that applications got, and the delays of repairs and of originals.

Both delays run from publication to delivery, so that a repair's includes the time until the
loss was found.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.distribution import (
    Distribution,
    distribution_outputs,
    report_distribution,
)
from penstock.metrics.recovery.percentiles import PERCENTILES
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Ints
from penstock.trace.fates import RECEIVED, ReceiverFate


class RepairedDelays(AdditiveMetric[Batch]):
    """Delays of originals and of repairs, by ordering."""

    READS: ClassVar = {"deliveries": ("ordering", "published_ns", "delivered_ns", "fate")}
    OUTPUTS: ClassVar = (
        Output(
            name="repaired",
            unit="deliveries",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning="repairs that applications got, by the second of their delivery",
        ),
        *distribution_outputs(
            "delivery_delay", PERCENTILES, "time from publication to delivery of an original"
        ),
        *distribution_outputs(
            "repaired_delay", PERCENTILES, "time from publication to delivery of a repair"
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._delivered: Final[dict[str, _Delivered]] = {}

    def update(self, batch: Batch) -> None:
        """Adds what the application of each ordering got."""
        ordering, names = batch.codes("ordering"), batch.names("ordering")
        got = batch.is_one_of("fate", RECEIVED) & batch.present("delivered_ns")
        is_repair = got & batch.is_one_of("fate", {ReceiverFate.REPAIRED})
        is_original = got & ~is_repair
        delivered_ns = batch.integers("delivered_ns")
        delay_ns = delivered_ns - batch.integers("published_ns")
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            seen = self._delivered.setdefault(names[code], _Delivered(self.run.seconds))
            its = ordering == code
            repairs = is_repair & its
            seen.originals.add(delay_ns[is_original & its])
            seen.repairs.add(delay_ns[repairs])
            seen.by_second += self.run.per_second(delivered_ns[repairs])

    def tally(self, out: Tally) -> None:
        """Also of an ordering that is declared and delivered nothing."""
        for ordering in sorted({*self.run.orderings, *self._delivered}):
            seen = self._delivered.get(ordering, _Delivered(self.run.seconds))
            out.add("repaired", seen.by_second, ordering=ordering)
            seen.originals.tally("delivery_delay", out, ordering=ordering)
            seen.repairs.tally("repaired_delay", out, ordering=ordering)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Counts, and delays where there were any."""
        if not run.has("deliveries"):
            return
        for ordering in tally.orderings("repaired"):
            by_second = tally.get("repaired", ordering=ordering)
            out.add_value("repaired", by_second.sum(), ordering=ordering)
            out.add_series("repaired", by_second[:-1], ordering=ordering)
            for name in ("delivery_delay", "repaired_delay"):
                report_distribution(name, PERCENTILES, tally, out, ordering=ordering)


class _Delivered:
    """What the applications of one ordering got."""

    __slots__ = ("by_second", "originals", "repairs")

    def __init__(self, seconds: int) -> None:
        self.originals: Final = Distribution()
        self.repairs: Final = Distribution()
        # Repairs; the last place counts those outside the experiment.
        self.by_second: Ints = np.zeros(seconds + 1, np.int64)
