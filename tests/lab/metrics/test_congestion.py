"""Rates, fairness and steadiness, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from penstock.fairness.jain import jain
from penstock.kernel.instant import SECOND
from penstock.lab.experiment import MeasurePart
from penstock.lab.metrics.congestion import Congestion, settled_after, swing_of, unfair_by
from penstock.trace.fates import PublisherFate
from penstock.trace.records import (
    Arrival,
    Feedback,
    FlowSample,
    Publication,
    QueueSample,
    Row,
    Signal,
)
from tests.lab.metrics.batches import context, expected, feed


def arrivals(who: str, rate: int, from_s: int, to_s: int) -> list[Arrival]:
    times = [from_s * SECOND + i * SECOND // rate for i in range(rate * (to_s - from_s))]
    return [Arrival(who, "p-1", 0, i, at, at, 2, False) for i, at in enumerate(times)]


def feedback(who: str, flow: str, at: int) -> Feedback:
    return Feedback(who, "p-1", flow, at, 1, 0.01, 10.0, 5.0, 2.0, True, 60)


def flow_sample(at: int, flow: str) -> FlowSample:
    return FlowSample(at, "p-1", flow, None, 10.0, 5.0, 0)


def seen(rows: Sequence[Row], seconds: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    metric = Congestion(context("on", seconds=seconds))
    feed(metric, rows)
    return {name: figure.value for name, figure in metric.figures().items()}, metric.series()


def test_each_receiver_has_its_rate_and_all_their_index() -> None:
    both = arrivals("a", 100, 0, 4) + arrivals("b", 50, 0, 4)
    both.sort(key=lambda arrival: arrival.arrived_ns)
    figures, series = seen(both, 4)
    assert (figures["rate.a"], figures["rate.b"]) == (100, 50)
    assert figures["jain"] == pytest.approx(150**2 / (2 * (100**2 + 50**2)))
    assert series == {"received.a": [100.0] * 4, "received.b": [50.0] * 4}


def test_who_gets_nothing_counts_in_the_index_and_the_drain_does_not() -> None:
    rows: list[Row] = [expected(0, ("p-1", who)) for who in "ab"]
    # The experiment lasts four seconds.
    rows += [*arrivals("a", 10, 0, 4), *arrivals("b", 10, 4, 8)]
    figures, series = seen(rows, 4)
    assert figures["jain"] == 0.5
    assert [*series] == ["received.a"]
    # Whoever gets something unexpected is a receiver, too.
    assert seen([*arrivals("a", 10, 0, 4), *arrivals("b", 10, 4, 8)], 4)[0]["jain"] == 0.5


def test_what_is_fair_is_known_from_what_each_wants() -> None:
    # All get what they want; then 90 in all, of which 20, 35 and 35 would be fair.
    assert unfair_by({"a": 20, "b": 60, "c": 100}, {"a": 20, "b": 35, "c": 35}) == 0
    assert unfair_by({"a": 20, "b": 60, "c": 100}, {"a": 10, "b": 40, "c": 40}) == 0.5
    assert unfair_by({"a": 20, "b": 0}, {"a": 0, "b": 0}) == 0
    measure = MeasurePart(metrics=[], phases={"all": (0, 2), "less": (2, 4)}, ample="all")
    metric = Congestion(replace(context("on", seconds=4), measure=measure))
    rows = arrivals("a", 20, 0, 4) + arrivals("b", 100, 0, 2) + arrivals("b", 40, 2, 4)
    rows.sort(key=lambda arrival: arrival.arrived_ns)
    feed(metric, rows)
    figures = metric.figures()
    assert figures["unfair.all"].value == 0
    # Of 60 the first should have all of its 20, and has.
    assert figures["unfair.less"].value == pytest.approx(0)


def test_a_frame_of_feedback_counts_once_whatever_flows_are_in_it() -> None:
    rows: list[Row] = [Publication("p-1", 0, 0, 0, 0, 1, PublisherFate.SENT, "data")]
    rows += [feedback("a", flow, at) for at in (0, SECOND) for flow in ("x", "y")]
    rows += [feedback("b", "x", SECOND), QueueSample(0, "q", 1, 100, None)]
    figures, _ = seen(rows, 5)
    assert figures["feedback_rate"] == pytest.approx(3 / 5)
    assert figures["queue_mean"] == 100


def test_a_flow_table_is_as_large_as_the_flows_that_a_second_sees() -> None:
    # Twice a second, from the warm-up on; `y` is there for one of four seconds.
    times = [(half, "x") for half in range(-2, 9)] + [(3, "y"), (4, "y")]
    rows: list[Row] = [flow_sample(half * SECOND // 2, flow) for half, flow in sorted(times)]
    figures, _ = seen(rows, 4)
    assert (figures["flow_table_mean"], figures["flow_table_max"]) == (1.25, 2)
    nothing, _ = seen(rows[:1], 4)
    assert (nothing["flow_table_mean"], nothing["flow_table_max"]) == (0, 0)


def test_acknowledgements_are_told_from_other_signals() -> None:
    rows: list[Row] = [Publication("p-1", 0, 0, 0, 0, 1, PublisherFate.SENT, "data")]
    kinds = ["ack", "echorequest", "ack", "ack", "digest"]
    rows += [Signal("a", "p-1", kind, at, 30) for at, kind in enumerate(kinds)]
    assert seen(rows, 5)[0]["ack_rate"] == pytest.approx(3 / 5)


def test_it_has_settled_when_deliveries_are_what_they_will_be() -> None:
    figures, _ = seen(arrivals("a", 20, 0, 3) + arrivals("a", 200, 3, 20), 20)
    assert figures["settled_after"] == pytest.approx(3, abs=0.2)
    assert figures["swing"] == pytest.approx(0, abs=0.01)


def test_the_worst_second_tells_the_swing() -> None:
    steady = np.full(200, 10)
    assert swing_of(steady) == 0
    steady[40:60] = 5
    assert swing_of(steady) == pytest.approx(1 - 100 / 190)
    assert swing_of(steady[:20]) is None
    assert settled_after(np.zeros(100, np.int64)) is None


def test_the_index_of_fairness() -> None:
    assert jain(np.array([3.0, 3.0, 3.0])) == 1
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert jain(np.zeros(3)) == 1
