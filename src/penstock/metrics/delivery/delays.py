"""Delays: from publication to arrival or delivery, and from arrival to delivery.

The network's `delay` ends with the arrival, an ordering's with the delivery; `extra_delay` is
what the ordering adds. A row that lacks one of the two times has no such delay. Quantiles over
messages come from bins of 0.1 ms, those over pairs from the exact means of the pairs. A phase
has what ended in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.codes import grown
from penstock.metrics.delivery.spans import rows_by_span
from penstock.metrics.distribution import (
    Distribution,
    distribution_outputs,
    report_distribution,
    share_above_zero,
)
from penstock.metrics.histogram import quantile_ms
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Flags, Floats, Ints

SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
PAIR_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_PERCENTILES: Final = np.linspace(0, 1, 101)
# Nobody notices less.
_UNNOTICED_MS: Final = 1.0


def _outputs_of_pairs(name: str, meaning: str) -> Iterator[Output]:
    yield Output(
        name=f"{name}_mean",
        unit="ms",
        entity=Entity.PAIR,
        window=Window.RUN,
        meaning=f"{meaning}: mean of the pair",
    )
    for label in PAIR_SHARES:
        which = "maximum" if label == "max" else f"{label[1:]}th percentile"
        yield Output(
            name=f"{name}_pairs_{label}",
            unit="ms",
            window=Window.RUN,
            meaning=f"{meaning}: {which} of the means of pairs",
        )


_DELAY: Final = "time from publication to arrival, or to delivery by an ordering"
_EXTRA_DELAY: Final = "time from arrival to delivery, which an ordering adds"


class Delays(AdditiveMetric[Receipts]):
    """Delay of everything received, and extra delay of what an ordering delivered."""

    READS: ClassVar = {"receipts": ("published_ns", "arrived_ns", "ended_ns")}
    OUTPUTS: ClassVar = (
        *distribution_outputs("delay", SHARES, _DELAY, phased=frozenset({"p50", "max"})),
        *_outputs_of_pairs("delay", _DELAY),
        *distribution_outputs("extra_delay", SHARES, _EXTRA_DELAY),
        *_outputs_of_pairs("extra_delay", _EXTRA_DELAY),
        Output(
            name="extra_delay_pairs_ms",
            unit="ms",
            kinds=("curve",),
            window=Window.RUN,
            meaning=f"{_EXTRA_DELAY}: percentiles of the means of pairs",
        ),
        Output(
            name="held_share",
            unit="1",
            window=Window.RUN,
            meaning="share of delivered messages that an ordering held back at all",
        ),
        Output(
            name="pairs_below_1ms",
            unit="1",
            window=Window.RUN,
            meaning="share of pairs whose mean extra delay is below 1 ms",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._delay = _Delay("delay", run)
        self._extra = _Delay("extra_delay", run)
        # By ordering and phase.
        self._phases: dict[tuple[str, str], Distribution] = {}

    def update(self, batch: Receipts) -> None:
        """Adds the delays of the next rows."""
        if not batch.rows:
            return
        delay_ns = batch.ended_ns - batch.published_ns
        self._delay.add(batch, delay_ns)
        if self.run.phase_bounds:
            self._add_phases(batch, delay_ns)
        if not batch.is_of_network:
            self._extra.add(batch, batch.ended_ns - batch.arrived_ns, has=batch.has_arrived)

    def tally(self, out: Tally) -> None:
        """Distributions, and sums by pair."""
        self._delay.tally(out)
        self._extra.tally(out)
        for (ordering, phase), seen in self._phases.items():
            seen.tally("delay", out, ordering=ordering, phase=phase)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Both delays of each ordering, then phases."""
        for ordering in tally.orderings("delay.sums"):
            report_distribution("delay", SHARES, tally, out, ordering=ordering)
            _report_pairs("delay", tally, out, ordering=ordering)
            for phase in run.phase_bounds:
                _report_phase(phase, tally, out, ordering=ordering)
        for ordering in tally.orderings("extra_delay.sums"):
            report_distribution("extra_delay", SHARES, tally, out, ordering=ordering)
            held = share_above_zero("extra_delay", tally, ordering=ordering)
            assert held is not None
            out.add_value("held_share", held, ordering=ordering)
            means_ms = _report_pairs("extra_delay", tally, out, ordering=ordering)
            below = float((means_ms < _UNNOTICED_MS).mean())
            out.add_value("pairs_below_1ms", below, ordering=ordering)
            curve = np.quantile(means_ms, _PERCENTILES).tolist()
            out.add_curve("extra_delay_pairs_ms", curve, ordering=ordering)

    def _add_phases(self, batch: Receipts, delay_ns: Ints) -> None:
        for ordering, where in batch.by_ordering:
            its = delay_ns[where]
            for phase, rows in rows_by_span(self.run, batch.ended_ns[where]):
                if phase and rows.start < rows.stop:
                    seen = self._phases.setdefault((ordering, phase), Distribution())
                    seen.add(its[rows])


class _Delay:
    """One kind of delay: its distribution in each ordering, and its sum in each stream."""

    def __init__(self, name: str, run: RunInfo) -> None:
        self._name: Final = name
        self._codes: Final = run.codes
        self._seen: dict[str, Distribution] = {}
        # Of each stream.
        self._counts: Ints = np.zeros(0, np.int64)
        self._totals_ns: Ints = np.zeros(0, np.int64)

    def add(self, batch: Receipts, values_ns: Ints, *, has: Flags | None = None) -> None:
        """Adds the values of all rows, or only of those that have one."""
        for ordering, where in batch.by_ordering:
            its = values_ns[where] if has is None else values_ns[where][has[where]]
            if its.size:
                self._seen.setdefault(ordering, Distribution()).add(its)
        groups, size = batch.groups, self._codes.streams.count
        self._counts = grown(self._counts, size, 0)
        self._totals_ns = grown(self._totals_ns, size, 0)
        if has is None:
            counts = np.diff(np.append(groups.begins, len(values_ns)))
        else:
            values_ns = np.where(has, values_ns, 0)
            counts = np.add.reduceat(has[groups.order].astype(np.int64), groups.begins)
        self._counts[groups.stream] += counts
        self._totals_ns[groups.stream] += np.add.reduceat(values_ns[groups.order], groups.begins)

    def tally(self, out: Tally) -> None:
        """Puts down distributions, and count and sum of each pair."""
        codes = self._codes
        if not self._seen:
            return
        flow, ordering_of_stream = codes.streams.parts()
        pair_of_stream = codes.pair_of_flow()[flow]
        names = codes.names("ordering")
        for ordering, seen in self._seen.items():
            seen.tally(self._name, out, ordering=ordering)
            streams = np.flatnonzero(ordering_of_stream == names.index(ordering))
            sums = np.zeros((codes.pairs.count, 2), np.int64)
            np.add.at(sums[:, 0], pair_of_stream[streams], self._counts[streams])
            np.add.at(sums[:, 1], pair_of_stream[streams], self._totals_ns[streams])
            pairs = np.flatnonzero(sums[:, 0])
            subscribers, publishers = codes.pair_names(pairs)
            out.add_entities(
                self._name, subscribers, sums[pairs], peers=publishers, ordering=ordering
            )


def _report_pairs(name: str, tally: Tally, out: Results, *, ordering: str) -> Floats:
    """Reports the mean of each pair and quantiles of the means; returns the means."""
    pairs = tally.entities(name, ordering=ordering)
    means_ms: Floats = pairs.values[:, 1] / pairs.values[:, 0] / MILLISECOND
    out.add_pairs(f"{name}_mean", pairs.names, pairs.peers, means_ms, ordering=ordering)
    for label, share in PAIR_SHARES.items():
        value = float(np.quantile(means_ms, share))
        out.add_value(f"{name}_pairs_{label}", value, ordering=ordering)
    return means_ms


def _report_phase(phase: str, tally: Tally, out: Results, *, ordering: str) -> None:
    bins, counts = tally.bins("delay", ordering=ordering, entity=phase)
    if not bins.size:
        return
    longest_ms = tally.number("delay.max", ordering=ordering, entity=phase) / MILLISECOND
    median_ms = min(quantile_ms(bins, counts, SHARES["p50"]), longest_ms)
    out.add_value("delay_p50", median_ms, ordering=ordering, phase=phase)
    out.add_value("delay_max", longest_ms, ordering=ordering, phase=phase)
