"""What is timed is what it is said to be, and comes out right."""

from __future__ import annotations

import numpy as np
import pytest

from bench import BENCHES
from bench.effairness import PLAIN, RECEIVERS, TIMES, growth, seconds, workload
from penstock.fairness.contention import contention_of
from penstock.fairness.effairness import effairness
from penstock.fairness.maxmin import MaxMin
from penstock.fairness.proportional import Proportional
from penstock.fairness.routes import Plan, streams_of


@pytest.mark.parametrize("way", [MaxMin, Proportional])
def test_everybody_finishes_when_it_was_drawn(way: type[MaxMin] | type[Proportional]) -> None:
    work = workload(60, 20, way())
    outcome = effairness(work.network, way())
    assert outcome.finish == pytest.approx(work.finish, rel=1e-9)
    (graph,) = outcome.graphs
    ends = [
        finish - graph.receiver_shift[receiver.id]
        for receiver, finish in zip(work.network.receivers(), outcome.finish, strict=True)
    ]
    times = np.unique(np.round([*graph.arrival.values(), *ends], 3))
    assert len(times) == 20


def test_all_are_in_one_anothers_way() -> None:
    network = workload(200, 20, MaxMin()).network
    streams = streams_of(network, Plan(network))
    (block,) = contention_of(network, streams, [True] * 200).blocks()
    assert len(block.receivers) == 200


def test_the_same_work_is_drawn_again() -> None:
    assert workload(30, 10, MaxMin()).network == workload(30, 10, MaxMin()).network
    assert seconds(workload(30, 10, MaxMin()).network, PLAIN) > 0


def test_growth_is_the_exponent_of_a_power() -> None:
    assert growth({10: 0.5, 100: 5.0, 1000: 50.0}) == pytest.approx(1)
    assert growth({10: 1.0, 100: 100.0}) == pytest.approx(2)


def test_it_is_listed_and_goes_as_far_as_is_asked() -> None:
    assert "effairness" in BENCHES
    assert (RECEIVERS, TIMES) == ((100, 1_000, 10_000, 100_000), 100)
