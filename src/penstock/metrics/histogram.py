"""Histograms of delays in bins of 0.1 ms, which add up over batches, parts and runs.

A quantile read from the bins is off by half a bin at most.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.codes import grown
from penstock.trace.batch import Ints

BIN_NS: Final = MILLISECOND // 10
BIN_MS: Final = BIN_NS / MILLISECOND
# Up to 13 s each bin has a place; longer and negative delays are rare.
_PLACES: Final = 1 << 17


class Histogram:
    """Counts how many fall into each bin."""

    __slots__ = ("_counts", "_others")

    def __init__(self) -> None:
        self._counts: Ints = np.zeros(0, np.int64)
        self._others: Counter[int] = Counter()

    def add(self, values_ns: Ints) -> None:
        """Adds the next values."""
        bins = values_ns // BIN_NS
        if not bins.size:
            return
        if bins.min() < 0 or bins.max() >= _PLACES:
            is_other = (bins < 0) | (bins >= _PLACES)
            self._others.update(bins[is_other].tolist())
            bins = bins[~is_other]
        counts = np.bincount(bins)
        self._counts = grown(self._counts, counts.size, 0)
        self._counts[: counts.size] += counts

    def table(self) -> tuple[Ints, Ints]:
        """The bins that are not empty, in rising order, and their counts."""
        inside = np.flatnonzero(self._counts)
        bins = np.concatenate([inside, np.array(list(self._others), np.int64)])
        others = np.array(list(self._others.values()), np.int64)
        counts = np.concatenate([self._counts[inside], others])
        order = np.argsort(bins)
        return bins[order], counts[order]


def quantile_ms(bins: Ints, counts: Ints, share: float) -> float:
    """The quantile at `share`, each value taken for the middle of its bin.

    Interpolates between two values, as numpy does.
    """
    below = np.cumsum(counts)
    rank = (int(below[-1]) - 1) * share
    first = int(rank)
    low, high = (
        (int(bins[np.searchsorted(below, r, side="right")]) + 0.5) * BIN_MS
        for r in (first, min(first + 1, int(below[-1]) - 1))
    )
    return float(low + (high - low) * (rank - first))
