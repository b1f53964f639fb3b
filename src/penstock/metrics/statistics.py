"""Means over seeds with their 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

import msgspec
import scipy


class Estimate(msgspec.Struct, frozen=True):
    """A mean with its 95 % confidence interval, which is None for one value."""

    mean: float
    ci95: tuple[float, float] | None
    unit: str = ""


def estimate(values: Sequence[float], unit: str = "") -> Estimate:
    """The mean with Student's t interval, because there are few seeds."""
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean, None, unit)
    # scipy loads submodules on first use, and most commands never get here.
    student = float(scipy.special.stdtrit(len(values) - 1, 0.975))
    half = student * stdev(values, mean) / sqrt(len(values))
    return Estimate(mean, (mean - half, mean + half), unit)


def ratio(values: Sequence[float], others: Sequence[float]) -> Estimate | None:
    """The ratio per seed: both variants ran in the same world, so common noise cancels.

    None if one of the others is 0.
    """
    if not all(others):
        return None
    return estimate([value / other for value, other in zip(values, others, strict=True)])
