"""The response function and its inverse, against vectors and against each other."""

from __future__ import annotations

from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tfrc.throughput_equation import loss_event_rate_for, tcp_throughput

LOSS_RATES = (0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 1)
VECTORS = {
    0.01: (12236.436, 3838.436, 1123.322, 732.490, 368.589, 177.010, 53.656, 0.411),
    0.1: (1223.644, 383.844, 112.332, 73.249, 36.859, 17.701, 5.366, 0.041),
    0.5: (244.729, 76.769, 22.466, 14.650, 7.372, 3.540, 1.073, 0.008),
}


@pytest.mark.parametrize("rtt_s", VECTORS)
def test_it_agrees_with_the_vectors(rtt_s: float) -> None:
    got = [round(tcp_throughput(1, rtt_s, p), 3) for p in LOSS_RATES]
    assert tuple(got) == VECTORS[rtt_s]


@pytest.mark.parametrize(
    ("size", "rtt_s", "rate", "p", "interval"),
    [
        (1, 0.1, 50, 0.0343778, 29.088),
        (1, 0.1, 200, 0.00352296, 283.852),
        (1000, 0.1, 125_000, 0.00830814, 120.364),
    ],
)
def test_so_does_its_inverse(
    size: float, rtt_s: float, rate: float, p: float, interval: float
) -> None:
    found = loss_event_rate_for(size, rtt_s, rate)
    assert found == pytest.approx(p, rel=1e-5)
    assert 1 / found == pytest.approx(interval, abs=5e-4)


@given(p=st.floats(1e-9, 1), rtt_s=st.floats(0.001, 2), size=st.floats(1, 1500))
def test_the_inverse_is_one(p: float, rtt_s: float, size: float) -> None:
    assert loss_event_rate_for(size, rtt_s, tcp_throughput(size, rtt_s, p)) == pytest.approx(
        p, rel=1e-6
    )


@given(p=st.floats(1e-9, 0.99), more=st.floats(1.001, 2), rtt_s=st.floats(0.001, 2))
def test_more_losses_or_longer_trips_are_slower(p: float, more: float, rtt_s: float) -> None:
    assert tcp_throughput(1, rtt_s, min(1.0, p * more)) < tcp_throughput(1, rtt_s, p)
    assert tcp_throughput(1, rtt_s * more, p) < tcp_throughput(1, rtt_s, p)


def test_the_ends() -> None:
    assert tcp_throughput(1, 0.1, 0) == inf
    assert tcp_throughput(1, 0.1, 5) == tcp_throughput(1, 0.1, 1)
    assert loss_event_rate_for(1, 0.1, 0) == 1
    assert 0 < loss_event_rate_for(1, 0.1, 1e12) < 1e-9
    # Where losses are rare it is the square-root law.
    assert tcp_throughput(1, 1, 1e-9) == pytest.approx(sqrt(1.5e9), rel=1e-3)


@given(p=st.floats(1e-6, 1), rtt_s=st.floats(0.001, 2), size=st.floats(1, 1500))
def test_it_is_the_equation_of_the_rfc(p: float, rtt_s: float, size: float) -> None:
    """As RFC 5348 §3.1 prints it, with b = 1 and t_RTO = 4·R."""
    b, t_rto = 1, 4 * rtt_s
    f = sqrt(2 * b * p / 3) * rtt_s
    f += t_rto * (3 * sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    assert tcp_throughput(size, rtt_s, p) == pytest.approx(size / f, rel=1e-12)


@pytest.mark.spec("C1")
@pytest.mark.parametrize(("p", "times"), [(0.001, 39), (0.01, 12)])
def test_p_is_a_factor_and_no_exponent(p: float, times: float) -> None:
    printed = 1 / (sqrt(2 * p / 3) + (12 * sqrt(3 * p / 8)) ** p * (1 + 32 * p * p))
    assert tcp_throughput(1, 1, p) / printed == pytest.approx(times, rel=0.05)


@pytest.mark.spec("C15")
def test_how_steep_it_is_does_not_depend_on_the_round_trip() -> None:
    falls = [
        tcp_throughput(1, rtt_s, 0.02) / tcp_throughput(1, rtt_s, 0.01) for rtt_s in (0.01, 0.2)
    ]
    assert falls[0] == pytest.approx(falls[1])
