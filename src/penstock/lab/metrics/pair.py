"""One pair's delays, one after another: does their variation depend on their size?

Of the pairs between two groups that exchanged most, looks at the one whose
delays grew longest: the pair that saw most congestion. Its consecutive delays should go together,
and the law of their differences should be the same at low delay and at high.
Points and histograms that show it are kept.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.base import (
    Context,
    Figure,
    Floats,
    Ints,
    Metric,
    correlation,
    is_one_of,
    pair_codes,
    spread,
)
from penstock.metrics.laws import two_laplace
from penstock.metrics.laws.ks import ansari_bradley, ks_two, rank_sum
from penstock.metrics.sketches import Bins, Grid, Sketch, grid_for, thinned
from penstock.trace.batch import Batch

_ENOUGH: Final = 200
_NEARLY: Final = 0.8
# Differences that share a message are not independent: every other one is left out.
_THIN: Final = 2


class Pair(Metric):
    """Consecutive delays of the most delayed pair."""

    TABLES: ClassVar[tuple[str, ...]] = ("arrivals",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        publishers, subscribers = context.measure.pair or ("", "")
        self._publishers = set(context.members.get(publishers, ()))
        self._subscribers = set(context.members.get(subscribers, ()))
        self._pairs: list[Ints] = []
        self._seqs: list[Ints] = []
        self._delays: list[Ints] = []

    def take(self, batch: Batch) -> None:
        """Keeps the rows of the two groups."""
        wanted = is_one_of(batch, "publisher", self._publishers)
        wanted &= is_one_of(batch, "subscriber", self._subscribers)
        if wanted.any():
            columns = batch.columns
            delays = columns["arrived_ns"].values - columns["published_ns"].values
            self._pairs.append(pair_codes(batch)[wanted])
            self._seqs.append(columns["seq"].values[wanted])
            self._delays.append(delays[wanted])

    def figures(self) -> dict[str, Figure]:
        """Of the pair chosen."""
        delays_ms = self._delays_ms
        if delays_ms.size < 2:
            return {}
        before, after = delays_ms[:-1], delays_ms[1:]
        low, high = self._differences_ms()
        found = {
            "pair_messages": Figure(delays_ms.size, "messages"),
            "pair_delay_max": Figure(float(delays_ms.max()), "ms"),
            "pair_correlation": Figure(correlation(before, after)),
            "pair_high_delays": Figure(high.size, "messages"),
        }
        if min(low.size, high.size) >= _ENOUGH:
            found |= _compared(low, high)
        return found

    def sketches(self) -> dict[str, Sketch]:
        """Each delay and the next; differences at low delay and at high, in the same bins."""
        if self._delays_ms.size < 2:
            return {}
        before, after = self._delays_ms[:-1], self._delays_ms[1:]
        found: dict[str, Sketch] = {"pair_delays": thinned(before, after)}
        low, high = self._differences_ms()
        if min(low.size, high.size) >= _ENOUGH:
            grid = grid_for(after - before)
            found["pair_differences.low"] = _with_law(grid, low)
            found["pair_differences.high"] = _with_law(grid, high)
        return found

    @cached_property
    def _delays_ms(self) -> Floats:
        """Of the pair chosen, in the order of publication; asked when all was seen."""
        pairs, delays = spread(self._pairs), spread(self._delays)
        if not pairs.size:
            return np.empty(0)
        chosen = pairs == _most_delayed(pairs, delays)
        in_order = np.argsort(spread(self._seqs)[chosen], kind="stable")
        return np.asarray((delays[chosen] / MILLISECOND)[in_order])

    def _differences_ms(self) -> tuple[Floats, Floats]:
        """Of messages of low delay, and of high."""
        after, differences = self._delays_ms[1:], np.diff(self._delays_ms)
        split = self.context.measure.delay_split_ms
        return differences[after <= split], differences[after > split]


def _most_delayed(pairs: Ints, delays: Ints) -> int:
    """The pair of the longest delay, of those with nearly as many messages as any."""
    codes, which, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    longest = np.zeros(len(codes), np.int64)
    np.maximum.at(longest, which, delays)
    longest[counts < _NEARLY * counts.max()] = 0
    return int(codes[np.argmax(longest)])


def _with_law(grid: Grid, differences_ms: Floats) -> Bins:
    """What does not vary has no scale, and no law."""
    scale_ms = two_laplace.scale(differences_ms)
    return grid.count(differences_ms, [scale_ms] if scale_ms > 0 else None)


def _compared(low: Floats, high: Floats) -> dict[str, Figure]:
    ks = ks_two(low, high, thin=_THIN)
    return {
        "difference_ks": Figure(ks.statistic),
        "difference_ks_p": Figure(ks.p_value),
        "difference_ansari_p": Figure(ansari_bradley(low, high, thin=_THIN).p_value),
        "difference_wilcoxon_p": Figure(rank_sum(low, high, thin=_THIN).p_value),
        "difference_scale_ratio": Figure(float(np.abs(high).mean() / np.abs(low).mean())),
    }
