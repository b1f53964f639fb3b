"""What delays looked like, in few enough numbers to be kept: histograms and points.

A sketch is of one run: neither bins nor points of several can be averaged. Nothing
is left to chance, so that the same values make the same sketch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import Final, TypeAlias

import msgspec
import numpy as np

from penstock.trace.batch import Floats

BINS_MAX: Final = 120
POINTS_MAX: Final = 1500
# The share of values at either end that bins need not reach.
_FAR: Final = 0.001
# Of milliseconds: clocks tick in nanoseconds, and nobody sees less than a microsecond.
_WIDTH_MIN: Final = 1e-6
_DECIMALS: Final = 3


class Bins(msgspec.Struct, frozen=True, kw_only=True, tag="bins"):
    """A histogram: bin i of a `start` of 0 holds i·width ≤ x < (i + 1)·width.

    `law` is what the law that was fitted to the same values needs to be drawn, if
    there is one; which law it is goes without saying, from the sketch's name.
    """

    start: float
    width: float
    counts: list[int]
    below: int = 0
    above: int = 0
    law: list[float] = []

    @property
    def total(self) -> int:
        """How many values there were, in bins or not."""
        return self.below + sum(self.counts) + self.above


class Points(msgspec.Struct, frozen=True, kw_only=True, tag="points"):
    """Some of the `total` points that there were, as far apart from each other as can be."""

    x: list[float]
    y: list[float]
    total: int


Sketch: TypeAlias = Bins | Points


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Bins `first`, `first` + 1, …; bin 0 begins at 0, so that edges are round numbers."""

    first: int
    size: int
    width: float

    def count(self, values: Floats, law: list[float] | None = None) -> Bins:
        """How many lie in each bin."""
        places = np.floor(values / self.width).astype(np.int64) - self.first
        inside = places[(places >= 0) & (places < self.size)]
        return Bins(
            start=self.first * self.width,
            width=self.width,
            counts=np.bincount(inside, minlength=self.size).tolist(),
            below=int((places < 0).sum()),
            above=int((places >= self.size).sum()),
            law=law or [],
        )


def grid_for(values: Floats) -> Grid:
    """As narrow as the number of values allows, by half of what Freedman and Diaconis say."""
    low, quarter, three, high = np.quantile(values, (_FAR, 0.25, 0.75, 1 - _FAR)).tolist()
    # Half, because a width is rounded up: what comes of it lies around their own.
    by_chance = (three - quarter) / np.cbrt(values.size)
    # Both ends may lie within a bin, which makes one more than fit between them.
    width = _round_up(max(by_chance, (high - low) / (BINS_MAX - 2)))
    first = floor(low / width)
    return Grid(first=first, size=floor(high / width) - first + 1, width=width)


def thinned(x: Floats, y: Floats) -> Points:
    """Every so-many-th point, from the first on."""
    kept = min(POINTS_MAX, x.size)
    chosen = np.arange(kept) * x.size // max(kept, 1)
    return Points(
        x=x[chosen].round(_DECIMALS).tolist(), y=y[chosen].round(_DECIMALS).tolist(), total=x.size
    )


def _round_up(width: float) -> float:
    """To 1, 2 or 5 and zeros; values that are all the same get a bin of 1."""
    if not width > 0:
        return 1.0
    width = max(width, _WIDTH_MIN)
    power = floor(log10(width))
    # A negative power of ten is not exact; to divide by a positive one is as exact as can be.
    steps = (step * 10**power if power >= 0 else step / 10**-power for step in (1, 2, 5))
    return float(next((step for step in steps if step >= width), 10.0 ** (power + 1)))
