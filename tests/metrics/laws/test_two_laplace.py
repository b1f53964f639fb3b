"""The sum of two Laplacians, against quadrature, simulation and the published vectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.metrics.laws import two_laplace as law

# Test vectors §2.1 of the specification: P and Q/b.
VECTORS = {
    0.4: 0.409356,
    0.3: 0.873054,
    0.25: 1.146193,
    0.2: 1.466203,
    0.1: 2.397276,
    0.05: 3.271812,
    0.02: 4.378692,
    0.01: 5.191820,
    0.005: 5.990244,
    0.001: 7.804280,
    0.0001: 10.336618,
}


@pytest.mark.spec("F1")
@pytest.mark.parametrize(("p", "q_over_b"), VECTORS.items())
def test_quantiles_are_the_published_ones_and_linear_in_b(p: float, q_over_b: float) -> None:
    assert law.tail_quantile(p, 1.0) == pytest.approx(q_over_b, abs=6e-7)
    assert law.quantile(1 - p, 7.0) == pytest.approx(7 * q_over_b, abs=7 * 6e-7)


@pytest.mark.spec("F1")
def test_a_quantile_is_where_root_finding_finds_it() -> None:
    for q in (0.45, 0.2, 0.05, 1e-3, 1e-9):
        root = scipy.optimize.brentq(lambda x, q=q: law.tail(x, 4.0) - q, 0, 400, xtol=1e-13)
        assert law.tail_quantile(q, 4.0) == pytest.approx(root, rel=1e-9)


@settings(deadline=None)
@given(
    b=st.floats(1e-6, 1e6),
    p=st.floats(1e-9, 1 - 1e-9),
)
def test_quantile_and_cdf_undo_each_other(b: float, p: float) -> None:
    assert float(law.cdf(law.quantile(p, b), b)) == pytest.approx(p, rel=1e-6, abs=1e-12)


def test_far_tails_keep_their_digits() -> None:
    far = law.tail_quantile(np.array([1e-30, 1e-300]), 1.0)
    assert law.tail(far, 1.0) == pytest.approx(np.array([1e-30, 1e-300]), rel=1e-10)


def test_edges_are_infinite_and_the_middle_is_zero() -> None:
    assert law.quantile([0, 0.5, 1], 2.0).tolist() == [-np.inf, 0, np.inf]
    assert law.cdf([-np.inf, 0, np.inf], 2.0).tolist() == [0, 0.5, 1]
    assert law.density([-np.inf, np.inf], 2.0).tolist() == [0, 0]


def test_the_density_integrates_to_the_cdf() -> None:
    for x in (-9.0, -1.0, 0.5, 6.0):
        area, _ = scipy.integrate.quad(lambda t: float(law.density(t, 2.5)), -100, x, points=[0])
        assert float(law.cdf(x, 2.5)) == pytest.approx(area, abs=1e-9)


def test_simulated_sums_follow_the_law_and_give_their_scale_back() -> None:
    rng = np.random.default_rng(1)
    x = rng.laplace(scale=3.0, size=200_000) + rng.laplace(scale=3.0, size=200_000)
    at = np.array([-10.0, -3.0, 0.0, 1.0, 8.0])
    assert np.searchsorted(np.sort(x), at) / x.size == pytest.approx(law.cdf(at, 3.0), abs=5e-3)
    assert law.scale(x) == pytest.approx(3.0, rel=0.01)


@pytest.mark.spec("F3")
def test_the_scale_is_unbiased_with_the_stated_variance() -> None:
    rng = np.random.default_rng(2)
    x = rng.laplace(size=(20_000, 25)) + rng.laplace(size=(20_000, 25))
    scales = np.array([law.scale(row) for row in x])
    assert scales.mean() == pytest.approx(1.0, abs=0.005)
    assert scales.var() * 25 == pytest.approx(0.7778, rel=0.05)


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="positive"):
        law.cdf(1.0, 0.0)
    with pytest.raises(UsageError, match="probability"):
        law.quantile(1.5, 1.0)
    with pytest.raises(UsageError, match="no samples"):
        law.scale([])
