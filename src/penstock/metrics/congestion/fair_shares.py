"""What each receiver gets, and how far that is from its fair share.

In an *ample* phase every receiver gets all it wants, which tells how much that is. In the other
phases receivers together get less; the fair share of each is its max-min share of that. A
phase is *unfair* by as much as the worst receiver is off its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from penstock.fairness.single_link import fair_shares
from penstock.kernel.instant import SECOND
from penstock.metrics.base import AdditiveMetric, Entity, Output, share
from penstock.metrics.codes import grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Floats, Ints

# With more receivers nobody reads the rate of each.
_RATES_MAX: Final = 32


class FairShares(AdditiveMetric[Batch]):
    """Rates of receivers, and their distance from fair ones."""

    READS: ClassVar = {
        "arrivals": ("subscriber", "arrived_ns"),
        "expected": ("subscriber", "published_ns"),
    }
    OUTPUTS: ClassVar = (
        Output(
            name="rate",
            unit="/s",
            entity=Entity.SUBSCRIBER,
            phased=True,
            meaning=f"messages per second that came to it; of at most {_RATES_MAX} receivers",
        ),
        Output(
            name="unfair",
            unit="1",
            phased=True,
            meaning="how far the worst receiver is off its fair share, as a part of that share",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        spans = list(run.spans())
        # Start and end of the experiment and of each phase.
        bounds_ns = [(round(low_s * SECOND), round(high_s * SECOND)) for _, low_s, high_s in spans]
        self._bounds_ns: Final = run.origin + np.minimum(bounds_ns, run.duration)
        # By receiver: messages in the experiment and in each phase.
        self._came: Ints = np.zeros((0, len(spans)), np.int64)
        # By receiver: whether a message of the experiment was meant for it.
        self._expects: Flags = np.zeros(0, np.bool_)

    def update(self, batch: Batch) -> None:
        """Counts what came to each receiver, or notes who expects anything."""
        subscriber = batch.codes("subscriber")
        count = int(subscriber.max()) + 1
        self._came = grown(self._came, count, 0)
        self._expects = grown(self._expects, count, fill=False)
        if batch.table.name == "expected":
            second = self.run.second_of(batch.integers("published_ns"))
            self._expects[subscriber[(second >= 0) & (second < self.run.seconds)]] = True
            return
        # Arrivals come in order of time.
        rows = np.searchsorted(batch.integers("arrived_ns"), self._bounds_ns)
        for span, (start, stop) in enumerate(rows.tolist()):
            self._came[:count, span] += np.bincount(subscriber[start:stop], minlength=count)

    def tally(self, out: Tally) -> None:
        """Every receiver that got or expected anything within the experiment."""
        came, expects = self._came, self._expects
        receivers = np.flatnonzero((came[:, 0] > 0) | expects[: len(came)])
        names = self.run.codes.names("subscriber")
        out.add_entities("came", [names[code] for code in receivers.tolist()], came[receivers])

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """The experiment, and each phase."""
        if not run.has("arrivals"):
            return
        spans = list(run.spans())
        came = tally.entities("came")
        order = sorted(range(len(came.names)), key=came.names.__getitem__)
        counts = came.values.reshape(-1, len(spans))[order].T
        rates = {
            phase: [share(count, high_s - low_s) for count in own.tolist()]
            for (phase, low_s, high_s), own in zip(spans, counts, strict=True)
        }
        if len(order) <= _RATES_MAX:
            for phase, own_rates in rates.items():
                for place, rate in zip(order, own_rates, strict=True):
                    out.add_value("rate", rate, entity=came.names[place], phase=phase)
        ample = run.measure.get("ample")
        if ample in run.phase_bounds:
            for phase in run.phase_bounds:
                out.add_value("unfair", unfair_by(rates[ample], rates[phase]), phase=phase)


def unfair_by(wanted: Sequence[float], got: Sequence[float]) -> float:
    """How far the worst receiver is off its share of what all get, as a part of that share."""
    fair: Floats = np.array(fair_shares(wanted, sum(got)))
    off = np.abs(np.asarray(got)[fair > 0] / fair[fair > 0] - 1)
    return float(off.max(initial=0))
