"""Ideals of one moment: networks, one link, and Jain's index."""

from __future__ import annotations

from math import inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.fairness.instantaneous import max_min, proportional
from penstock.fairness.jain import jain
from penstock.fairness.network import Network
from penstock.fairness.single_link import fair_shares
from penstock.kernel.errors import UsageError
from tests.fairness.certificate import gap, most_unfair
from tests.fairness.examples import network, separating
from tests.fairness.oracle import Oracle
from tests.fairness.strategies import networks


def test_the_two_ideals_part_on_two_links() -> None:
    assert max_min(separating()) == {"L": 1, "S1": 1, "S2": 1}
    assert proportional(separating()) == pytest.approx({"L": 2 / 3, "S1": 4 / 3, "S2": 4 / 3})


def test_who_counts_once_for_max_min_counts_by_receivers_for_proportional() -> None:
    pair = {"r": ("b", 0.0, 1.0, 1.0), "q": ("b", 0.0, 1.0, 1.0)}
    net = network([("a", "b", 3, 0)], {"s": ("a", pair), "t": ("a", {"p": ("b", 0, 1, 1)})})
    assert max_min(net) == {"r": 1.5, "q": 1.5, "p": 1.5}
    assert proportional(net) == pytest.approx({"r": 2, "q": 2, "p": 1})


def test_a_bound_that_is_just_the_share_is_kept_exactly() -> None:
    net = network(
        [("a", "b", 2, 0), ("b", "c", 1, 0)],
        {"s": ("a", {"r": ("c", 0, 1, 1)}), "t": ("a", {"q": ("b", 0, 1, 1)})},
    )
    assert max_min(net) == {"r": 1, "q": 1}
    assert proportional(net) == {"r": 1, "q": 1}


def test_rates_without_limit_are_infinite_and_none_are_none() -> None:
    net = network(
        [("a", "b", None, 0), ("a", "c", 0, 0)],
        {"s": ("a", {"r": ("b", 0, 1, 1), "q": ("c", 0, 1, 1)})},
    )
    assert max_min(net) == proportional(net) == {"r": inf, "q": 0}


def test_sessions_may_form_cycles_where_time_plays_no_part() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    ends = {"s": ("a", "c"), "t": ("b", "a"), "u": ("c", "b")}
    net = network(
        [(start, end, 2, 1) for start, end in ring],
        {name: (start, {f"r{name}": (end, 0, 1, 1)}) for name, (start, end) in ends.items()},
    )
    assert list(max_min(net).values()) == [1, 1, 1]


@given(networks(hosts_max=12, receivers_max=6))
@settings(max_examples=100, deadline=None)
def test_rates_are_ideal_by_proof(net: Network) -> None:
    oracle = Oracle(net)
    fair, even = max_min(net), proportional(net)
    active = [name for name, rate in fair.items() if rate < inf]
    assert [name for name, rate in even.items() if rate < inf] == active
    if active:
        assert most_unfair(oracle, active, fair) <= 1e-9
        assert gap(oracle, active, even) <= 1e-7 * len(active)


@given(networks(hosts_max=12, receivers_max=6))
@settings(max_examples=100, deadline=None)
def test_neither_ideal_is_worse_than_the_other_at_what_it_is_for(net: Network) -> None:
    fair, even = max_min(net), proportional(net)
    finite = [name for name, rate in fair.items() if rate < inf]
    if finite:
        assert min(fair[n] for n in finite) >= min(even[n] for n in finite) * (1 - 1e-9)
        gain = sum(log(even[n]) - log(fair[n]) for n in finite)
        assert gain >= -1e-9 * len(finite)


# One link


@pytest.mark.parametrize(
    ("demands", "capacity", "shares"),
    [
        ([100, 50, 10], 90, [40, 40, 10]),
        ([400, 150, 150], 440, [440 / 3] * 3),
        ([10, 20, 30, 40], 60, [10, 50 / 3, 50 / 3, 50 / 3]),
        ([5, 5, 5], 30, [5, 5, 5]),
        ([], 30, []),
        ([inf, 1], 5, [4, 1]),
        ([1, 2], 0, [0, 0]),
    ],
)
def test_one_link_is_shared_as_the_vectors_say(
    demands: list[float], capacity: float, shares: list[float]
) -> None:
    assert fair_shares(demands, capacity) == pytest.approx(shares)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.01, 100)), min_size=1, max_size=8),
    st.floats(0, 1e6),
)
@settings(deadline=None)
def test_weighted_shares_rise_to_one_level(
    wishes: list[tuple[float, float]], capacity: float
) -> None:
    demands, weights = [d for d, _ in wishes], [w for _, w in wishes]
    shares = fair_shares(demands, capacity, weights)
    assert sum(shares) == pytest.approx(min(capacity, sum(demands)), rel=1e-9, abs=1e-9)
    level = max((s / w for s, w in zip(shares, weights, strict=True)), default=0.0)
    for share, demand, weight in zip(shares, demands, weights, strict=True):
        assert 0 <= share <= demand
        assert share == demand or share / weight == pytest.approx(level, rel=1e-6, abs=1e-6)


def test_shares_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="2 demands need as many weights, not 1"):
        fair_shares([1, 2], 3, [1])
    with pytest.raises(UsageError, match="a weight is above 0"):
        fair_shares([1], 3, [0])
    with pytest.raises(UsageError, match="a demand is 0 or more, not -1"):
        fair_shares([-1], 3)


# Jain


@pytest.mark.parametrize(
    ("rates", "index"),
    [
        ([5], 1),
        ([2, 2, 2], 1),
        ([1, 0, 0, 0], 0.25),
        ([1, 2, 3], 36 / 42),
        ([0, 0], 1),
        ([1e-200, 1e-200], 1),
        ([1e200, 1e200], 1),
    ],
)
def test_jains_index(rates: list[float], index: float) -> None:
    assert jain(rates) == pytest.approx(index)


def test_jains_index_of_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match="one rate at least"):
        jain([])
    with pytest.raises(UsageError, match="a rate is 0 or more, and finite, not -1"):
        jain([1, -1])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_jains_index_lies_between_one_share_and_one_and_knows_no_unit(
    rates: list[float], unit: float
) -> None:
    index = jain(rates)
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12
    assert jain([rate * unit for rate in rates]) == pytest.approx(index)
