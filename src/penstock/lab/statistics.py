"""Means over seeds, with the interval that holds the true one 19 times out of 20."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

import msgspec
import scipy


class Estimate(msgspec.Struct, frozen=True):
    """A mean; one run has no interval."""

    mean: float
    ci95: tuple[float, float] | None
    unit: str = ""


def estimate(values: Sequence[float], unit: str = "") -> Estimate:
    """Student's interval: seeds are few, and their spread is itself an estimate."""
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean, None, unit)
    # scipy loads its parts when they are first used, which for most commands is never.
    student = float(scipy.special.stdtrit(len(values) - 1, 0.975))
    half = student * stdev(values, mean) / sqrt(len(values))
    return Estimate(mean, (mean - half, mean + half), unit)


def ratio(values: Sequence[float], others: Sequence[float]) -> Estimate | None:
    """Seed by seed: both saw the same world, so that most of its luck cancels.

    None where one of the others is 0: there is no such ratio.
    """
    if not all(others):
        return None
    return estimate([value / other for value, other in zip(values, others, strict=True)])
