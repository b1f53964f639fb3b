"""How many clusters a set of delays falls into.

Delays over one link more or less lie about `spacing` apart, so that messages
cluster by the number of links they crossed. To count the clusters:

1. Count the delays in narrow bins and smooth them a little, with a width well
   below the spacing: what is closer than half of it is never told apart.
2. Cut at every local minimum, so that each piece has one peak.
3. Undo the shallowest cut first, and go on until all that are left are deep:
   the valley is at most two thirds as high as the lower of the peaks beside it, and
   lower by more than chance would explain.
4. Drop the pieces that hold too few delays: a tail is no cluster.

Knows neither the topology nor what the delays should be; few samples, or
clusters wider than half the spacing, are told apart late rather than early.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.kernel.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]

BINS_MAX: Final = 1 << 16
_BINS_PER_SPACING: Final = 50
# In bins: a twelfth of the spacing.
_SMOOTH_BINS: Final = _BINS_PER_SPACING / 12
_VALLEY_MAX: Final = 2 / 3
_SIGMAS: Final = 5.0


class SpanError(UsageError):
    """Delays lie too far apart for clusters of this spacing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """`centre` is the median of its delays, `share` their part of all delays."""

    centre: float
    share: float


def clusters(delays: ArrayLike, spacing: float, *, share_min: float = 0.01) -> list[Cluster]:
    """The clusters by rising centre; delays and spacing in one unit. Shares may leave some out."""
    x = np.sort(np.asarray(delays, dtype=np.float64).ravel())
    if not x.size:
        return []
    if not np.isfinite(x).all() or not spacing > 0:
        raise UsageError("delays must be finite numbers and the spacing positive")
    width = spacing / _BINS_PER_SPACING
    reach = int(4 * _SMOOTH_BINS)
    start = x[0] - width * (reach + 1)
    if (x[-1] - start) / width > BINS_MAX - 2 * reach:
        raise SpanError(
            f"delays from {x[0]:g} to {x[-1]:g} with spacing {spacing:g}: are the units the same?"
        )
    bins = ((x - start) / width).astype(np.int64)
    heights = _smooth(np.bincount(bins, minlength=bins[-1] + reach + 2), reach)
    edges = np.searchsorted(bins, [0, *_deep_cuts(heights), len(heights)])
    pieces = [x[low:high] for low, high in pairwise(edges)]
    return [
        Cluster(centre=float(np.median(piece)), share=len(piece) / len(x))
        for piece in pieces
        if len(piece) >= max(1.0, share_min * len(x))
    ]


def _smooth(counts: NDArray[np.int64], reach: int) -> Floats:
    """How many delays there are around each bin, with the spread of a plain count of so many."""
    bell = np.exp(-((np.arange(-reach, reach + 1) / _SMOOTH_BINS) ** 2) / 2)
    # A count has a variance equal to its mean; a weighted one when Σw² = Σw.
    bell *= bell.sum() / (bell**2).sum()
    return np.convolve(counts.astype(np.float64), bell, mode="same")


def _deep_cuts(heights: Floats) -> list[int]:
    """Where to cut, by bin, so that every piece has a peak of its own."""
    # Flat stretches count as falling: the last of their bins is the valley.
    falls = np.diff(heights) <= 0
    turns = np.flatnonzero(falls[1:] != falls[:-1]) + 1
    peaks = turns[falls[turns]]
    valleys = turns[~falls[turns]]
    valleys = valleys[(valleys > peaks[0]) & (valleys < peaks[-1])]
    while len(valleys):
        depths = _depths(heights, peaks, valleys)
        shallowest = int(depths.argmin())
        if depths[shallowest] >= 1:
            break
        valleys = np.delete(valleys, shallowest)
        left_is_lower = heights[peaks[shallowest]] < heights[peaks[shallowest + 1]]
        peaks = np.delete(peaks, shallowest if left_is_lower else shallowest + 1)
    return [int(valley) for valley in valleys]


def _depths(heights: Floats, peaks: NDArray[np.intp], valleys: NDArray[np.intp]) -> Floats:
    """How deep the valley between each two peaks is: from 1 on, deep enough in every respect."""
    lower = np.minimum(heights[peaks[:-1]], heights[peaks[1:]])
    drop = lower - heights[valleys]
    by_share = drop / (lower * (1 - _VALLEY_MAX))
    by_chance = drop / (_SIGMAS * np.sqrt(lower + heights[valleys]))
    by_distance = np.diff(peaks) / (_BINS_PER_SPACING / 2)
    return np.minimum(np.minimum(by_share, by_chance), by_distance)
