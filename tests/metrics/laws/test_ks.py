"""Tests of tests: they accept what is the same and reject what is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.metrics.laws import ks, two_laplace

Two = Callable[..., ks.Verdict]


def two_sum_cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return two_laplace.cdf(x, 2.0)


def two_sum(rng: np.random.Generator, n: int, b: float = 2.0) -> NDArray[np.float64]:
    return rng.laplace(scale=b, size=n) + rng.laplace(scale=b, size=n)


def is_uniform(p_values: list[float]) -> bool:
    """Judged by shares, not by a test that is itself under test."""
    p = np.array(p_values)
    return all(abs((p <= level).mean() - level) < 0.1 for level in (0.1, 0.25, 0.5, 0.75, 0.9))


def test_the_distance_is_the_largest_gap_on_either_side_of_each_step() -> None:
    verdict = ks.ks_law([0.1, 0.2, 0.9], lambda x: x)
    assert verdict.statistic == pytest.approx(2 / 3 - 0.2)
    assert verdict.n == 3
    assert verdict.m is None


def test_the_distance_of_two_sets_is_that_of_their_steps() -> None:
    verdict = ks.ks_two([1, 2, 3, 4], [3, 4, 5, 6])
    assert verdict.statistic == pytest.approx(0.5)
    assert (verdict.n, verdict.m) == (4, 4)


def test_p_values_of_the_true_law_are_uniform_and_of_another_are_not() -> None:
    rng = np.random.default_rng(1)
    sets = [two_sum(rng, 300) for _ in range(150)]
    assert is_uniform([ks.ks_law(x, two_sum_cdf).p_value for x in sets])
    assert not is_uniform([ks.ks_law(x + 0.5, two_sum_cdf).p_value for x in sets])
    assert not is_uniform([ks.ks_law(x * 1.3, two_sum_cdf).p_value for x in sets])


@pytest.mark.parametrize("test", [ks.ks_two, ks.ansari_bradley, ks.rank_sum])
@pytest.mark.parametrize("n", [200, 600])
def test_p_values_of_two_sets_of_one_law_are_uniform(test: Two, n: int) -> None:
    rng = np.random.default_rng(2)
    assert is_uniform([test(two_sum(rng, n), two_sum(rng, n)).p_value for _ in range(150)])


@pytest.mark.spec("F14")
def test_each_test_sees_what_it_is_for() -> None:
    rng = np.random.default_rng(3)
    one, same = two_sum(rng, 5000), two_sum(rng, 5000)
    wider, shifted = two_sum(rng, 5000, b=2.3), two_sum(rng, 5000) + 0.4
    for test in (ks.ks_two, ks.ansari_bradley, ks.rank_sum):
        assert test(one, same).p_value > 0.01
    assert ks.ks_two(one, wider).p_value < 1e-3
    assert ks.ansari_bradley(one, wider).p_value < 1e-6
    assert ks.rank_sum(one, wider).p_value > 0.05
    assert ks.ks_two(one, shifted).p_value < 1e-3
    assert ks.rank_sum(one, shifted).p_value < 1e-6


@pytest.mark.spec("F6")
def test_thinning_makes_differences_of_consecutive_delays_independent() -> None:
    rng = np.random.default_rng(4)

    def differences() -> NDArray[np.float64]:
        delays = rng.exponential(2.0, 801) + rng.exponential(2.0, 801)
        return np.diff(delays)

    sets = [differences() for _ in range(150)]
    raw = np.array([ks.ks_law(x, two_sum_cdf).p_value for x in sets])
    thin = [ks.ks_law(x, two_sum_cdf, thin=2).p_value for x in sets]
    assert is_uniform(thin)
    assert not is_uniform(raw.tolist())
    assert ks.ks_law(sets[0], two_sum_cdf, thin=2).n == 400


def test_thinning_applies_to_both_sets() -> None:
    verdict = ks.ansari_bradley(np.arange(10.0), np.arange(7.0), thin=3)
    assert (verdict.n, verdict.m) == (4, 3)


def test_ties_are_no_obstacle() -> None:
    x, y = np.repeat([1.0, 2.0, 3.0], 10), np.repeat([1.0, 2.0, 3.0], 20)
    for test in (ks.ks_two, ks.ansari_bradley, ks.rank_sum):
        assert test(x, y).p_value > 0.9


def test_many_differences_of_exactly_zero_are_no_difference_of_scale() -> None:
    rng = np.random.default_rng(5)

    def often_zero(n: int) -> NDArray[np.float64]:
        return two_sum(rng, n) * (rng.random(n) < 0.6)

    pairs = [(often_zero(150), often_zero(600)) for _ in range(150)]
    assert is_uniform([ks.ansari_bradley(a, b).p_value for a, b in pairs])
    assert not is_uniform([ks.ansari_bradley(a, 1.5 * b).p_value for a, b in pairs])
    assert ks.ansari_bradley([1, 1], [1, 1, 1]).p_value == 1


def test_a_single_tie_changes_next_to_nothing() -> None:
    rng = np.random.default_rng(6)
    x, y = two_sum(rng, 400), two_sum(rng, 300, b=2.2)
    tied = np.append(x[:-1], x[0])
    untied = np.append(x[:-1], np.nextafter(x[0], np.inf))
    assert ks.ansari_bradley(tied, y).p_value == pytest.approx(
        ks.ansari_bradley(untied, y).p_value, rel=1e-3
    )


def test_more_than_can_be_used_is_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ks, "SAMPLES_MAX", 1000)
    verdict = ks.ks_law(np.linspace(0, 1, 12_345), lambda x: x)
    assert verdict.n == 1000
    assert verdict.statistic < 0.002


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="thin"):
        ks.ks_two([1, 2], [1, 2], thin=0)
    with pytest.raises(UsageError, match="1 are left"):
        ks.rank_sum([1, 2, 3], [1, 2], thin=2)
    with pytest.raises(UsageError, match="NaN"):
        ks.ks_law([1, np.nan], lambda x: x)
