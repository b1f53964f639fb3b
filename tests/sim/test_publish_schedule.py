"""Departures follow their rate."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.publish_schedule import Bursts, Constant, Points, Ramp, RateProfile, departures

RATES: list[tuple[RateProfile, float]] = [
    (Constant(50), 50 * 100),
    (Ramp(start=10, stop=90, over_s=100), 50 * 100),
    (Ramp(start=90, stop=10, over_s=50), 50 * 50 + 10 * 50),
    (Bursts(base=10, burst=100, burst_s=2, every_s=10), 28 * 100),
    (Bursts(base=0, burst=100, burst_s=2, every_s=10, shift_s=5), 20 * 100),
    (Ramp(start=0, stop=100, over_s=100), 50 * 100),
    (Points(((0, 10), (50, 90), (50, 20), (80, 20), (100, 0))), 50 * 50 + 20 * 30 + 10 * 20),
    (Bursts(base=0.1, burst=500, burst_s=0.5, every_s=5), 50 * 100),
]


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize(("rate", "expected"), RATES)
def test_as_many_leave_as_the_rate_says(rate: RateProfile, expected: float, poisson: bool) -> None:
    rng = Seeds(1).rng("departures", str(rate))
    times = list(departures(rate, start=5 * SECOND, stop=105 * SECOND, rng=rng, poisson=poisson))
    assert times == sorted(set(times))
    assert times[0] >= 5 * SECOND
    assert times[-1] < 105 * SECOND
    assert len(times) == pytest.approx(expected, rel=0.06 if poisson else 0.03)


def test_random_gaps_are_exponential_and_regular_ones_even() -> None:
    def spread(poisson: bool) -> float:
        rng = Seeds(2).rng("gaps")
        times = list(
            departures(Constant(100), start=0, stop=100 * SECOND, rng=rng, poisson=poisson)
        )
        gaps = [(b - a) / SECOND for a, b in pairwise(times)]
        mean = sum(gaps) / len(gaps)
        return sum((gap - mean) ** 2 for gap in gaps) / len(gaps) / mean**2

    assert spread(poisson=True) == pytest.approx(1.0, rel=0.1)
    assert spread(poisson=False) < 1e-6


def test_who_has_no_rate_sends_nothing() -> None:
    assert list(departures(Constant(0), start=0, stop=SECOND, rng=Seeds(1).rng("none"))) == []


def test_a_rate_goes_from_point_to_point() -> None:
    rate = Points(((0, 100), (10, 300), (10, 50), (20, 50)))
    assert [rate.at(time_s) for time_s in (0, 5, 9.999, 10, 15, 99)] == pytest.approx(
        [100, 200, 299.98, 50, 50, 50]
    )
    assert rate.peak == 300
    for wrong in ((), ((1, 5),), ((0, 5), (3, 5), (2, 5))):
        with pytest.raises(UsageError, match="points begin at 0 s"):
            Points(wrong)


def test_impossible_rates_are_refused() -> None:
    with pytest.raises(UsageError, match="0 or more"):
        Constant(-1)
    with pytest.raises(UsageError, match="0 or more"):
        Ramp(start=float("nan"), stop=1, over_s=1)
    with pytest.raises(UsageError, match="longer than 0 s"):
        Ramp(start=1, stop=2, over_s=0)
    with pytest.raises(UsageError, match="at most every_s"):
        Bursts(base=1, burst=2, burst_s=3, every_s=2)
