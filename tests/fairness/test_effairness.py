"""The whole judgement: the paper's numbers, and brute force on small random networks."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.fairness.effair import ALLOCATIONS
from penstock.fairness.effairness import Outcome, effairness
from penstock.fairness.network import Network
from penstock.kernel.errors import UsageError
from tests.fairness.certificate import gap, most_unfair
from tests.fairness.examples import network, paper, separating
from tests.fairness.oracle import Oracle
from tests.fairness.strategies import networks


def by_id(outcome: Outcome) -> dict[str, tuple[float, float]]:
    ids = [receiver.id for receiver in outcome.network.receivers()]
    pairs = zip(outcome.finish.tolist(), outcome.by_receiver.tolist(), strict=True)
    return dict(zip(ids, pairs, strict=True))


def steps(outcome: Outcome) -> dict[str, list[tuple[float, float]]]:
    receivers = outcome.network.receivers()
    return {receiver.id: outcome.rates(number) for number, receiver in enumerate(receivers)}


# The paper


@pytest.mark.spec("E1")
def test_example_2_time_shifts_anchor_and_arrivals() -> None:
    (graph,) = effairness(paper()).graphs
    at = graph.receiver_shift
    assert (at["z"] - at["x"], at["x"] - at["z"], at["w"] - at["x"]) == (14, -14, 13)
    assert graph.sender_shift["nu"] - graph.sender_shift["mu"] == -2
    assert graph.anchor == "x"
    assert graph.arrival == {"x": 3, "w": 3, "z": 105}
    assert [str(link) for link in graph.links] == ["h → b", "b → g", "h → p"]


@pytest.mark.spec("E1")
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_example_3_rates_and_finish_times(allocation: str) -> None:
    # With one shared link, proportional fairness is the same.
    outcome = effairness(paper(), allocation)
    assert steps(outcome) == {
        "z": [(119, 1), (415, 2), (717, 0)],
        "x": [(3, 1), (503, 0)],
        "w": [(16, 2), (118, 1), (414, 0)],
    }
    assert {name: finish for name, (finish, _) in by_id(outcome).items()} == {
        "z": 717,
        "x": 503,
        "w": 414,
    }


@pytest.mark.spec("E1")
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_example_4_indices(allocation: str) -> None:
    outcome = effairness(paper(), allocation)
    found = {name: index for name, (_, index) in by_id(outcome).items()}
    assert found == pytest.approx({"z": 0.986799, "x": 0.956023, "w": 0.758095}, abs=5e-7)
    assert outcome.by_session == pytest.approx({"nu": 0.986799, "mu": 0.857059}, abs=5e-7)
    assert outcome.overall == pytest.approx(0.921929, abs=5e-7)


def test_the_two_ideals_part_where_a_session_uses_two_full_links() -> None:
    fair = effairness(separating())
    assert fair.finish.tolist() == [1030, 1060, 1030]
    assert fair.by_receiver.tolist() == pytest.approx([0.5, 0.95, 1.0], rel=1e-12)
    assert fair.overall == pytest.approx(0.817, abs=5e-4)
    proportional = effairness(separating(), "proportional")
    assert proportional.graphs[0].anchor == fair.graphs[0].anchor == "L"
    assert proportional.finish.tolist() == pytest.approx([1080, 885, 805], rel=1e-12)
    assert proportional.by_receiver.tolist() == pytest.approx([0.525, 0.775, 0.775], rel=1e-12)
    assert proportional.overall == pytest.approx(0.692, abs=5e-4)
    # On the common timescale from 130 to 805; S1 is 20 earlier by its own clock.
    rates = {name: dict(found) for name, found in steps(proportional).items()}
    assert (rates["L"][130], rates["S1"][110], rates["S2"][130]) == pytest.approx(
        (2 / 3, 4 / 3, 4 / 3)
    )


# Brute force


@given(networks())
@settings(max_examples=100, deadline=None)
def test_max_min_is_what_brute_force_finds(net: Network) -> None:
    outcome = effairness(net)
    oracle = Oracle(net)
    finish, changes = oracle.finish(oracle.max_min)
    found = by_id(outcome)
    for receiver in net.receivers():
        ideal = float(finish[receiver.id])
        took = receiver.leave - receiver.join
        index = float((finish[receiver.id] - Fraction(receiver.join)) / Fraction(took))
        assert found[receiver.id] == pytest.approx((ideal, index), rel=1e-9, abs=1e-9)
    for name, expected in changes.items():
        own = steps(outcome)[name]
        # Who needs no time has no rate.
        assert len(own) == (len(expected) if len(expected) > 1 else 0)
        for step, (time, rate) in zip(own, expected, strict=False):
            assert step == pytest.approx((float(time), float(rate)), rel=1e-9, abs=1e-9)


@given(networks())
@settings(max_examples=60, deadline=None)
def test_every_component_has_the_anchor_and_arrivals_of_the_definition(net: Network) -> None:
    oracle = Oracle(net)
    components = {frozenset(component): component for component in oracle.components()}
    for graph in effairness(net).graphs:
        component = components.pop(frozenset(graph.arrival))
        anchor = oracle.anchor(component)
        assert oracle.join[graph.anchor] == oracle.join[anchor]
        for receiver in component:
            shift = oracle.shift(graph.anchor, receiver)
            assert graph.receiver_shift[receiver] == shift
            assert graph.arrival[receiver] == oracle.join[receiver] - shift
    assert not components


@given(networks())
@settings(max_examples=60, deadline=None)
def test_at_any_time_no_rates_are_proportionally_fairer(net: Network) -> None:
    outcome = effairness(net, "proportional")
    for active, rates in moments(outcome):
        assert gap(Oracle(net), active, rates) <= 1e-7 * len(active)


@given(networks())
@settings(max_examples=60, deadline=None)
def test_at_any_time_everybody_has_a_full_link_to_blame(net: Network) -> None:
    outcome = effairness(net)
    for active, rates in moments(outcome):
        assert most_unfair(Oracle(net), active, rates) <= 1e-9


@given(networks())
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_everybody_gets_its_data_and_no_more(allocation: str, net: Network) -> None:
    outcome = effairness(net, allocation)
    for receiver, changes in zip(net.receivers(), steps(outcome).values(), strict=True):
        spans = np.diff([time for time, _ in changes])
        got = sum(spans * [rate for _, rate in changes[:-1]])
        if changes:
            assert got == pytest.approx(receiver.data, rel=1e-8)


def moments(outcome: Outcome) -> list[tuple[list[str], dict[str, float]]]:
    """Who is active between any two changes in a component, and at what rates."""
    found = []
    changes = steps(outcome)
    for graph in outcome.graphs:
        shifted = {
            name: [(time - graph.receiver_shift[name], rate) for time, rate in changes[name]]
            for name in graph.arrival
        }
        times = sorted({time for own in shifted.values() for time, _ in own})
        for start, stop in pairwise(times):
            if stop - start < 1e-6:
                continue
            rates = {name: rate_at(own, (start + stop) / 2) for name, own in shifted.items()}
            active = [name for name, rate in rates.items() if rate]
            if active:
                found.append((active, rates))
    return found


def rate_at(changes: list[tuple[float, float]], time: float) -> float:
    return next((rate for at, rate in reversed(changes) if at <= time), 0.0)


# Edges


def alone(
    *,
    capacity: float | None = 2.0,
    join: float = 10.0,
    leave: float = 20.0,
    data: float = 8.0,
) -> Outcome:
    return effairness(
        network([("a", "b", capacity, 1)], {"s": ("a", {"r": ("b", join, leave, data)})})
    )


def test_who_wants_nothing_needs_no_time() -> None:
    outcome = alone(data=0.0)
    assert (outcome.finish[0], outcome.overall, outcome.rates(0)) == (10.0, 0.0, [])


def test_who_wants_nothing_and_takes_no_time_is_served_as_in_the_ideal() -> None:
    assert alone(data=0.0, leave=10.0).overall == 1.0


def test_where_nothing_limits_a_rate_data_come_at_once() -> None:
    outcome = alone(capacity=None)
    assert (outcome.finish[0], outcome.overall, outcome.rates(0)) == (10.0, 0.0, [])
    assert alone(capacity=None, leave=10.0).overall == 1.0


def test_data_in_no_time_are_refused() -> None:
    with pytest.raises(UsageError, match="'r' leaves as it joins, at 10, and yet has 8 of data"):
        alone(leave=10.0)


def test_who_is_faster_than_the_ideal_has_more_than_1() -> None:
    assert alone(leave=12.0).overall == 2.0


def test_who_would_never_finish_is_named() -> None:
    with pytest.raises(UsageError, match="receiver 'r' would never finish"):
        alone(capacity=0.0)
    assert alone(capacity=0.0, data=0.0).overall == 0.0


def test_a_receiver_at_its_senders_host_needs_no_link() -> None:
    net = network([], {"s": ("a", {"r": ("a", 0, 4, 1), "q": ("a", 0, 4, 0)})})
    outcome = effairness(net)
    assert outcome.by_session == {"s": 0.0}
    assert [graph.links for graph in outcome.graphs] == [()]


@pytest.mark.spec("E2")
def test_a_share_too_small_to_matter_is_still_a_share() -> None:
    net = network(
        [("a", "b", 1e-20, 0), ("b", "c", 1, 0)],
        {"s": ("a", {"r": ("b", 0, 1e21, 1)}), "t": ("b", {"q": ("c", 0, 1, 1)})},
    )
    outcome = effairness(net)
    assert outcome.finish.tolist() == pytest.approx([1e20, 1])


@pytest.mark.spec("E3")
def test_a_session_loads_a_link_once_however_many_receive_it() -> None:
    crowd = {f"r{i}": ("b", 0.0, 1.0, 1.0) for i in range(50)}
    net = network([("a", "b", 2, 0)], {"s": ("a", crowd), "t": ("a", {"q": ("b", 0, 1, 1)})})
    assert effairness(net).finish.tolist() == [1.0] * 51


def test_components_do_not_touch_one_another() -> None:
    """Both ways of a link are two links; what goes each way does not meet."""
    net = network(
        [("a", "b", 2, 3), ("b", "a", 2, 7)],
        {"to": ("a", {"r": ("b", 0, 10, 10)}), "fro": ("b", {"q": ("a", 100, 110, 10)})},
    )
    outcome = effairness(net)
    assert outcome.finish.tolist() == [5.0, 105.0]
    assert [graph.anchor for graph in outcome.graphs] == ["r", "q"]


def test_clocks_that_count_from_long_ago_lose_nothing() -> None:
    ago = 1.7e9
    facts = {"L": ("C", 0.03), "S": ("B", 0.11)}
    near, far = (
        network(
            [("A", "B", 2, 0.01), ("B", "C", 2, 0.02)],
            {name: ("A", {name: (host, at + join, at + join + 2, 1)})
             for name, (host, join) in facts.items()},
        )
        for at in (0.0, ago)
    )  # fmt: skip
    late = effairness(far).finish - ago
    assert late.tolist() == pytest.approx(effairness(near).finish.tolist(), abs=1e-6)


def test_joins_that_differ_by_rounding_alone_are_one_event() -> None:
    # 0.1 + 0.2 is not 0.3.
    net = network(
        [("a", "b", 1, 0.1), ("b", "c", 1, 0.2)],
        {"s": ("a", {"r": ("b", 0.1, 2, 1)}), "t": ("a", {"q": ("c", 0.3, 2, 1)})},
    )
    outcome = effairness(net)
    (graph,) = outcome.graphs
    assert len(set(graph.arrival.values())) == 1
    assert [len(outcome.rates(number)) for number in (0, 1)] == [2, 2]
    assert graph.anchor == "r"


def test_an_unknown_ideal_is_refused_with_those_known() -> None:
    with pytest.raises(UsageError, match="no allocation 'best': choose from maxmin, proportional"):
        effairness(paper(), "best")


def test_changes_without_number_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.fairness.effair.CHANGES_MAX", 3)
    outcome = effairness(paper())
    assert not outcome.has_rates
    assert outcome.finish.tolist() == [717, 503, 414]
    with pytest.raises(UsageError, match="too often to be kept"):
        outcome.rates(0)


def test_progress_tells_of_every_receiver_once() -> None:
    told: list[int] = []
    effairness(paper(), progress=told.append)
    assert sum(told) == 3
