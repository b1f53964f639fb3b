"""Quantiles of delays from bins of 0.1 ms, as the pipeline computes them."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.base import Ints

_BIN_NS: Final = MILLISECOND // 10
_BIN_MS: Final = _BIN_NS / MILLISECOND


class DelayBins:
    """Counts of durations by bin; there is one duration at least."""

    def __init__(self, values_ns: Ints) -> None:
        self._bins, counts = np.unique(values_ns // _BIN_NS, return_counts=True)
        self._below: Final = np.cumsum(counts)
        self._longest_ms: Final = float(values_ns.max()) / MILLISECOND

    def quantile_ms(self, share: float) -> float:
        """Each value counts as the middle of its bin; between two values it is interpolated."""
        last = int(self._below[-1]) - 1
        rank = last * share
        low, high = (self._middle_ms(place) for place in (int(rank), min(int(rank) + 1, last)))
        # The middle of the last bin may lie beyond the longest value.
        return min(low + (high - low) * (rank - int(rank)), self._longest_ms)

    def _middle_ms(self, place: int) -> float:
        return (int(self._bins[np.searchsorted(self._below, place, side="right")]) + 0.5) * _BIN_MS
