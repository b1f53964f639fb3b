"""Delays of one pair, one after another: does their variation depend on their size?

Of the pairs between the two groups of `measure.pair`, looks at the one with the longest delay,
which saw most congestion. A delay should go together with the next one, and the differences of
consecutive delays should follow the same law whether delays are low or high.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import Entity, Metric, Output, Window, correlation
from penstock.metrics.codes import grown
from penstock.metrics.laws import two_laplace
from penstock.metrics.laws.ks import ansari_bradley, ks_two, rank_sum
from penstock.metrics.message_order import publication_order
from penstock.metrics.pair_groups import PairGroups
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.sketches import Bins, Grid, grid_for, thinned
from penstock.trace.batch import Batch, Floats, Ints

# With fewer differences on either side nothing is compared.
_ENOUGH: Final = 200
# A pair is considered that has at least this share of the messages of the busiest one.
_NEARLY: Final = 0.8
# Consecutive differences share a message and are not independent: tests take every other one.
_THIN: Final = 2
_DELAY_SPLIT_MS: Final = 1500
_UNSEEN: Final = -1


class PairDelays(Metric[Batch]):
    """Consecutive delays of the pair that was delayed most."""

    READS: ClassVar = {
        "arrivals": ("subscriber", "publisher", "epoch", "seq", "published_ns", "arrived_ns")
    }
    OUTPUTS: ClassVar = (
        Output(
            name="pair_messages",
            unit="messages",
            window=Window.RUN,
            meaning="messages that arrived between the pair with the longest delay",
        ),
        Output(
            name="pair_delay_max",
            unit="ms",
            window=Window.RUN,
            meaning="the longest delay of that pair",
        ),
        Output(
            name="pair_correlation",
            unit="1",
            window=Window.RUN,
            meaning="correlation of a delay of that pair with the next one",
        ),
        Output(
            name="pair_high_delays",
            unit="messages",
            window=Window.RUN,
            meaning="messages of that pair with a delay above measure.delay_split_ms",
        ),
        Output(
            name="difference_ks",
            unit="1",
            window=Window.RUN,
            meaning="Kolmogorov-Smirnov distance between differences at low and at high delay",
        ),
        Output(
            name="difference_ks_p",
            unit="1",
            window=Window.RUN,
            meaning="p-value of the Kolmogorov-Smirnov test that both follow the same law",
        ),
        Output(
            name="difference_ansari_p",
            unit="1",
            window=Window.RUN,
            meaning="p-value of the Ansari-Bradley test that both have the same scale",
        ),
        Output(
            name="difference_wilcoxon_p",
            unit="1",
            window=Window.RUN,
            meaning="p-value of the Wilcoxon rank-sum test that both have the same location",
        ),
        Output(
            name="difference_scale_ratio",
            unit="1",
            window=Window.RUN,
            meaning="mean size of a difference at high delay, by that at low delay",
        ),
        Output(
            name="pair_delays",
            unit="ms",
            kinds=("sketch",),
            window=Window.RUN,
            meaning="each delay of that pair and the next one, as points",
        ),
        Output(
            name="pair_differences",
            unit="ms",
            entity=Entity.SETTING,
            kinds=("sketch",),
            window=Window.RUN,
            meaning="differences of consecutive delays at low and at high delay, in the same bins",
        ),
    )
    # Of the rows between the two groups: pair, place in the order of publication, delay.
    KEEPS_BYTES_PER_ROW: ClassVar = 20

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._groups: Final = PairGroups.all(run)
        self._split_ms: Final = run.measure.get("delay_split_ms", _DELAY_SPLIT_MS)
        self._publishers: Final = _SeenOrder()
        self._subscribers: Final = _SeenOrder()
        self._pairs: list[NDArray[np.int32]] = []
        self._orders: list[Ints] = []
        self._delays: list[Ints] = []

    def update(self, batch: Batch) -> None:
        """Keeps the rows between the two groups: which pair counts is known at the end."""
        if not self._groups:
            return
        self._publishers.add(batch.codes("publisher"))
        self._subscribers.add(batch.codes("subscriber"))
        rows = np.flatnonzero(self._groups.is_between(batch))
        if rows.size:
            subscriber, publisher = batch.codes("subscriber")[rows], batch.codes("publisher")[rows]
            pairs = self.run.codes.pairs.of(subscriber, publisher)
            published_ns, arrived_ns = batch.integers("published_ns"), batch.integers("arrived_ns")
            self._pairs.append(pairs.astype(np.int32))
            self._orders.append(publication_order(batch)[rows])
            self._delays.append(arrived_ns[rows] - published_ns[rows])

    def finish(self, out: Results) -> None:
        """Reports the pair's delays, and its differences at low and at high delay."""
        delays_ms = self._delays_ms()
        if delays_ms.size < 2:
            return
        before, after = delays_ms[:-1], delays_ms[1:]
        differences = np.diff(delays_ms)
        is_low = after <= self._split_ms
        low, high = differences[is_low], differences[~is_low]
        out.add_value("pair_messages", delays_ms.size)
        out.add_value("pair_delay_max", delays_ms.max())
        out.add_value("pair_correlation", correlation(before, after))
        out.add_value("pair_high_delays", high.size)
        out.add_sketch("pair_delays", thinned(before, after))
        if min(low.size, high.size) >= _ENOUGH:
            _report_comparison(low, high, out)
            grid = grid_for(differences)
            out.add_sketch("pair_differences", _with_law(grid, low), entity="low")
            out.add_sketch("pair_differences", _with_law(grid, high), entity="high")

    def _delays_ms(self) -> Floats:
        """Delays of the chosen pair in the order of publication."""
        if not self._pairs:
            return np.empty(0)
        pairs, delays_ns = np.concatenate(self._pairs), np.concatenate(self._delays)
        chosen = pairs == self._most_delayed(pairs, delays_ns)
        order = np.argsort(np.concatenate(self._orders)[chosen], kind="stable")
        return np.asarray(delays_ns[chosen][order] / MILLISECOND)

    def _most_delayed(self, pairs: NDArray[np.int32], delays_ns: Ints) -> int:
        """The pair with the longest delay of those with nearly as many messages as any.

        Copies of a message that reach several subscribers at once are delayed alike: then it is
        the pair whose publisher, and after that whose subscriber, was seen first.
        """
        busy, longest = _nearly_busiest(pairs, delays_ns)
        subscriber, publisher = (codes[busy] for codes in self.run.codes.pairs.parts())
        by_age = self._subscribers.of(subscriber), self._publishers.of(publisher)
        return int(busy[np.lexsort((*by_age, -longest))[0]])


class _SeenOrder:
    """Places of codes in the order in which they were first seen.

    Codes have another order, which depends on what else is measured.
    """

    def __init__(self) -> None:
        self._places: Ints = np.zeros(0, np.int64)
        self._seen = 0

    def add(self, codes: Ints) -> None:
        """Takes the next rows."""
        self._places = grown(self._places, int(codes.max()) + 1, _UNSEEN)
        new = codes[self._places[codes] == _UNSEEN]
        if new.size:
            distinct, first = np.unique(new, return_index=True)
            in_order = distinct[np.argsort(first)]
            self._places[in_order] = np.arange(self._seen, self._seen + in_order.size)
            self._seen += in_order.size

    def of(self, codes: Ints) -> Ints:
        """The place of each code."""
        return self._places[codes]


def _nearly_busiest(pairs: NDArray[np.int32], delays_ns: Ints) -> tuple[Ints, Ints]:
    """The pairs with nearly as many messages as any, and the longest delay of each."""
    found, which, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    longest = np.full(len(found), np.iinfo(np.int64).min)
    np.maximum.at(longest, which, delays_ns)
    busy = counts >= _NEARLY * counts.max()
    return found[busy].astype(np.int64), longest[busy]


def _with_law(grid: Grid, differences_ms: Floats) -> Bins:
    """Differences that do not vary have no scale, and no law."""
    scale_ms = two_laplace.scale(differences_ms)
    return grid.count(differences_ms, [scale_ms] if scale_ms > 0 else None)


def _report_comparison(low: Floats, high: Floats, out: Results) -> None:
    ks = ks_two(low, high, thin=_THIN)
    out.add_value("difference_ks", ks.statistic)
    out.add_value("difference_ks_p", ks.p_value)
    out.add_value("difference_ansari_p", ansari_bradley(low, high, thin=_THIN).p_value)
    out.add_value("difference_wilcoxon_p", rank_sum(low, high, thin=_THIN).p_value)
    mean_low = np.abs(low).mean()
    if mean_low:
        out.add_value("difference_scale_ratio", np.abs(high).mean() / mean_low)
