"""Publishing rates over time as values, and the departure times of messages.

A rate is a function of seconds since the start; `departures` turns it into instants, evenly
spaced or as a Poisson process. Knows nothing of message content.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from operator import itemgetter
from random import Random
from typing import Final, Protocol

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Instant, seconds

# Tolerance for rounding when the steps of a constant rate add up to one message.
_ROUNDING: Final = 1e-9


class RateProfile(Protocol):
    """Messages per second as a function of time; never above `peak`."""

    @property
    def peak(self) -> float:
        """The highest rate at any time."""

    def at(self, time_s: float) -> float:
        """The rate `time_s` after the start."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The same rate at all times."""

    rate: float

    def __post_init__(self) -> None:
        _check_rates(self.rate)

    @property
    def peak(self) -> float:
        """The constant rate."""
        return self.rate

    def at(self, time_s: float) -> float:  # noqa: ARG002
        """The constant rate."""
        return self.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """A linear change from one rate to another within `over_s`; the second then stays."""

    start: float
    stop: float
    over_s: float

    def __post_init__(self) -> None:
        _check_rates(self.start, self.stop)
        if not self.over_s > 0:
            raise UsageError(f"a ramp must last longer than 0 s, not {self.over_s}")

    @property
    def peak(self) -> float:
        """The higher of the two rates."""
        return max(self.start, self.stop)

    def at(self, time_s: float) -> float:
        """The interpolated rate."""
        done = min(max(time_s / self.over_s, 0.0), 1.0)
        return self.start + (self.stop - self.start) * done


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursts:
    """A base rate, and a burst rate during the first `burst_s` of every `every_s`."""

    base: float
    burst: float
    burst_s: float
    every_s: float
    shift_s: float = 0.0

    def __post_init__(self) -> None:
        _check_rates(self.base, self.burst)
        if not 0 < self.burst_s <= self.every_s:
            raise UsageError(
                f"a burst must last longer than 0 s and at most every_s ({self.every_s}),"
                f" not {self.burst_s}"
            )

    @property
    def peak(self) -> float:
        """The higher of the two rates."""
        return max(self.base, self.burst)

    def at(self, time_s: float) -> float:
        """The burst rate or the base rate."""
        is_burst = (time_s - self.shift_s) % self.every_s < self.burst_s
        return self.burst if is_burst else self.base


@dataclass(frozen=True, slots=True)
class Points:
    """Linear interpolation between points (time in seconds, rate); the last rate stays."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        _check_rates(*(rate for _, rate in self.points))
        times = [time_s for time_s, _ in self.points]
        if not times or times[0] != 0 or any(a > b for a, b in pairwise(times)):
            raise UsageError("points begin at 0 s, and none is before the one ahead of it")

    @property
    def peak(self) -> float:
        """The highest rate of all points."""
        return max(rate for _, rate in self.points)

    def at(self, time_s: float) -> float:
        """The interpolated rate; where two points share a time, the second counts."""
        after = bisect_right(self.points, time_s, key=itemgetter(0))
        if after == len(self.points):
            return self.points[-1][1]
        (from_s, low), (to_s, high) = self.points[max(0, after - 1)], self.points[after]
        return low + (high - low) * (time_s - from_s) / (to_s - from_s)


def departures(
    rate: RateProfile, *, start: Instant, stop: Instant, rng: Random, poisson: bool = True
) -> Iterator[Instant]:
    """All departure times from `start` until before `stop`, in order.

    With `poisson` they are an inhomogeneous Poisson process, drawn at the peak rate and
    thinned. Otherwise a message departs whenever the integral of the rate since the last
    departure reaches one message; only the first is random, so that publishers are not
    synchronised.
    """
    # Read once: some profiles search all their points for it.
    peak = rate.peak
    if peak <= 0:
        return
    if poisson:
        at = start + _gap(rng.expovariate(peak))
        while at < stop:
            if rng.random() * peak < rate.at((at - start) / SECOND):
                yield at
            at += _gap(rng.expovariate(peak))
        return
    # No step is longer than the shortest gap between messages, so no change of rate is missed.
    step_s = 1 / peak
    time_s, accumulated = 0.0, rng.random()
    while (at := start + seconds(time_s)) < stop:
        now_rate = rate.at(time_s + step_s / 2)
        accumulated += now_rate * step_s
        time_s += step_s
        if accumulated >= 1 - _ROUNDING:
            accumulated = max(0.0, accumulated - 1)
            departs_at = start + seconds(time_s - accumulated / now_rate)
            if departs_at < stop:
                yield departs_at


def _gap(gap_s: float) -> int:
    return max(1, seconds(gap_s))


def _check_rates(*rates: float) -> None:
    for rate in rates:
        if not (isfinite(rate) and rate >= 0):
            raise UsageError(f"a rate must be 0 or more messages a second, not {rate}")
