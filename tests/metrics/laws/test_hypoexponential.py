"""Sums of exponentials, against closed forms, quadrature and simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.metrics.laws import hypoexponential as law
from penstock.metrics.laws.ks import ks_law

TIMES = np.array([1e-6, 0.01, 0.5, 3.0, 20.0, 100.0])


def draw(rates: Sequence[float], n: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.asarray(np.sum([rng.exponential(1 / rate, n) for rate in rates], axis=0))


def tail_by_partial_fractions(
    t: NDArray[np.float64], rates: Sequence[float]
) -> NDArray[np.float64]:
    """The textbook formula, fit for rates that are far apart."""
    total = np.zeros_like(t)
    for i, rate in enumerate(rates):
        others = [other / (other - rate) for j, other in enumerate(rates) if j != i]
        total += np.prod(others) * np.exp(-rate * t)
    return total


@pytest.mark.parametrize("phases", [1, 2, 5, 20])
def test_equal_rates_are_an_erlang_law_to_the_last_digits(phases: int) -> None:
    erlang = scipy.stats.gamma(phases, scale=0.5)
    rates = [2.0] * phases
    assert law.density(TIMES, rates) == pytest.approx(erlang.pdf(TIMES), rel=1e-11, abs=1e-300)
    assert law.cdf(TIMES, rates) == pytest.approx(erlang.cdf(TIMES), rel=1e-11, abs=1e-300)
    assert law.tail(TIMES, rates) == pytest.approx(erlang.sf(TIMES), rel=1e-11, abs=1e-300)


def test_nearly_equal_rates_are_nearly_an_erlang_law() -> None:
    rates = [2.0, 2.0 + 1e-9, 2.0 - 1e-12, 2.0, 2.0 + 1e-15]
    erlang = scipy.stats.gamma(5, scale=0.5)
    assert law.tail(TIMES, rates) == pytest.approx(erlang.sf(TIMES), rel=1e-7)


def test_a_phase_a_million_times_quicker_costs_no_digits() -> None:
    t = np.array([1e-3, 1.0, 30.0, 600.0])
    expected = tail_by_partial_fractions(t, [1.0, 1e6])
    assert law.tail(t, [1.0, 1e6]) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    steps=st.lists(st.floats(0.7, 2.0), min_size=1, max_size=4),
    unit=st.floats(1e-3, 1e3),
)
def test_rates_far_apart_are_as_in_the_textbook(steps: list[float], unit: float) -> None:
    rates = (unit * np.exp(np.cumsum(steps))).tolist()
    t = np.array([0.1, 0.5, 1.0, 3.0, 9.0]) / unit
    expected = tail_by_partial_fractions(t, rates)
    assert law.tail(t, rates) == pytest.approx(expected, abs=1e-10)
    assert law.cdf(t, rates) == pytest.approx(1 - expected, abs=1e-10)
    assert law.tail(t, rates[::-1]) == pytest.approx(law.tail(t, rates), rel=1e-9)


def test_the_density_integrates_to_the_cdf_though_rates_differ_a_thousandfold() -> None:
    rates = [0.02, 1.0, 1.0, 20.0]
    for x in (0.3, 4.0, 60.0):
        area, _ = scipy.integrate.quad(lambda t: float(law.density(t, rates)), 0, x, limit=200)
        assert float(law.cdf(x, rates)) == pytest.approx(area, rel=1e-8)


def test_before_the_start_nothing_has_happened_and_in_the_end_everything() -> None:
    assert law.cdf([-1.0, 0.0, np.inf], [1.0, 2.0]).tolist() == [0, 0, 1]
    assert law.density([-1.0, 0.0, np.inf], [1.0, 2.0]).tolist() == [0, 0, 0]
    assert law.density([], [1.0]).shape == (0,)
    assert law.density(np.ones((2, 3)), [1.0]).shape == (2, 3)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_simulated_sums_follow_the_law(n_blocks: int) -> None:
    rates = [0.1, 0.3, 1.0]
    assert ks_law(draw(rates, 1500 * n_blocks, 5), lambda x: law.cdf(x, rates)).p_value > 0.01


def test_a_fit_recovers_rates_that_can_be_told_apart() -> None:
    fit = law.fit(100 + draw([0.1, 1.0], 6500, 1), 2, constant=100.0)
    assert fit.rates == pytest.approx((0.1, 1.0), rel=0.1)
    assert fit.constant == 100
    assert fit.n == 6500


def test_a_fit_recovers_the_constant_too() -> None:
    fit = law.fit(100 + draw([0.2, 0.25, 0.3], 6500, 2), 3)
    assert fit.constant == pytest.approx(100, abs=0.5)
    assert fit.constant + sum(1 / rate for rate in fit.rates) == pytest.approx(
        100 + 5 + 4 + 10 / 3, rel=0.01
    )


@pytest.mark.parametrize("constant", [100.0, None])
@pytest.mark.parametrize("rates", [(0.25,) * 5, (0.1, 0.3, 1.0), (0.1, 0.1, 10.0), (0.3,)])
def test_a_fit_is_likelier_than_the_truth_and_has_the_mean_of_the_samples(
    rates: tuple[float, ...], constant: float | None
) -> None:
    x = 100 + draw(rates, 500, 3)
    fit = law.fit(x, len(rates), constant=constant)
    assert fit.log_likelihood >= np.log(law.density(x - 100, rates)).sum()
    # A maximum of the likelihood has it exactly: a sign that we are at one.
    assert fit.constant + sum(1 / rate for rate in fit.rates) == pytest.approx(x.mean(), abs=0.05)
    assert ks_law(x, fit.cdf).p_value > 0.05
    assert list(fit.rates) == sorted(fit.rates)


def test_a_fit_with_too_few_phases_is_found_out() -> None:
    x = draw([0.25] * 4, 1000, 4)
    assert ks_law(x, law.fit(x, 2, constant=0.0).cdf).p_value < 1e-3
    assert ks_law(x, law.fit(x, 4, constant=0.0).cdf).p_value > 0.05


def test_the_unit_of_the_samples_does_not_matter() -> None:
    x = draw([0.1, 0.5, 2.0], 1000, 6)
    in_ms, in_ns = law.fit(x, 3, constant=0.0), law.fit(1e6 * x, 3, constant=0.0)
    assert np.array(in_ns.rates) * 1e6 == pytest.approx(np.array(in_ms.rates), rel=1e-3)


def test_the_slope_of_the_likelihood_is_its_slope() -> None:
    t = draw([0.5, 1.0, 3.0], 300, 7)
    z, step = np.log([0.4, 1.5, 1.5]), 1e-5
    _, slope, drift = law._likelihood(t, np.exp(z))
    for i in range(3):
        h = step * np.eye(3)[i]
        up, down = (law._likelihood(t, np.exp(z + side * h))[0] for side in (1, -1))
        assert slope[i] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)
    up, down = (law._likelihood(t + side * step * t.min(), np.exp(z))[0] for side in (1, -1))
    assert drift == pytest.approx((up - down) / (2 * step * t.min()), rel=1e-4)


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="3 of 10 samples are less"):
        law.fit(np.arange(10.0), 2, constant=2.5)
    with pytest.raises(UsageError, match="phases"):
        law.fit(np.arange(10.0), 0)
    with pytest.raises(UsageError, match="not all the same"):
        law.fit(np.ones(10), 2)
    with pytest.raises(UsageError, match="rates"):
        law.cdf(1.0, [1.0, 0.0])
