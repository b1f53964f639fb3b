"""Loss intervals and loss events, against vectors and plain sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import MILLISECOND
from penstock.tfrc.loss_events import LossEvents, detection_probability, literal_message_weight
from penstock.tfrc.loss_intervals import WEIGHTS, LossIntervals

RTT = 100 * MILLISECOND


def intervals(closed: list[float], current: float, *, discounts: bool = False) -> LossIntervals:
    """`closed` has the newest first."""
    made = LossIntervals(discounts=discounts)
    made.begin(closed[-1])
    for length in reversed(closed[:-1]):
        made.count(length - 1)
        made.close()
    made.count(current - 1)
    return made


def mean_of(made: LossIntervals) -> float:
    assert made.mean is not None
    return made.mean


@pytest.mark.parametrize(
    ("closed", "current", "mean"),
    [
        ([100.0] * 8, 1, 100),
        ([100.0] * 8, 50, 100),
        ([100.0] * 8, 100, 100),
        ([100.0] * 8, 400, 150),
        ([50.0, 200.0], 100, 125),
        ([50.0, 200.0], 400, 225),
        ([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0], 50, 36.6667),
        ([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0], 100, 43.3333),
        ([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0], 400, 93.3333),
        ([40.0], 1, 40),
        ([40.0], 100, 100),
    ],
)
def test_the_mean_agrees_with_the_vectors(closed: list[float], current: float, mean: float) -> None:
    assert intervals(closed, current).mean == pytest.approx(mean, abs=5e-5)


def plain_mean(lengths: list[float]) -> float:
    weights = WEIGHTS[: len(lengths)]
    return sum(w * x for w, x in zip(weights, lengths, strict=True)) / sum(weights)


@given(closed=st.lists(st.floats(1, 1000), min_size=1, max_size=12), current=st.floats(1, 2000))
def test_the_mean_is_that_of_the_last_eight(closed: list[float], current: float) -> None:
    known = closed[:8]
    expected = max(plain_mean(known), plain_mean([current, *known[:-1]]))
    assert intervals(closed, current).mean == pytest.approx(expected)


@given(length=st.floats(1, 1000), count=st.integers(1, 8), current=st.floats(1, 10_000))
def test_to_discount_never_makes_the_mean_smaller(
    length: float, count: int, current: float
) -> None:
    discounted = intervals([length] * count, current, discounts=True)
    assert mean_of(discounted) >= mean_of(intervals([length] * count, current)) - 1e-9


def test_after_long_without_loss_what_was_before_hardly_counts() -> None:
    made = intervals([10.0] * 8, 1_000, discounts=True)
    # The others weigh a quarter: (1000 + 10·5·¼) / (1 + 5·¼).
    assert made.mean == pytest.approx((1_000 + 50 * 0.25) / (1 + 5 * 0.25))
    made.close()
    # They stay discounted, so that one event does not bring them back.
    assert made.mean == pytest.approx((1_000 + 50 * 0.25) / (1 + 5 * 0.25))
    assert mean_of(intervals([1_000.0] + [10.0] * 7, 1)) < mean_of(made)


def test_there_is_no_mean_before_the_first_event() -> None:
    made = LossIntervals()
    made.count(50)
    assert (made.mean, made.loss_event_rate) == (None, 0)


def test_what_is_lost_within_a_round_trip_is_one_event() -> None:
    losses = LossEvents()
    losses.on_loss(0, RTT)
    losses.begin(20, 0)
    for due_ns in (1, RTT // 2, RTT):
        assert not losses.on_loss(due_ns, RTT)
    for _ in range(6):
        losses.on_received()
    assert losses.events == 1
    assert losses.on_loss(RTT + 1, RTT)
    # The first lost, three with it, and six that came.
    assert losses.intervals.lengths == [10, 20]
    assert (losses.events, losses.lost_messages) == (2, 5)


def test_a_mark_is_an_event_and_no_loss() -> None:
    losses = LossEvents()
    assert not losses.on_mark(0, 10)
    losses.begin(20, 0)
    # Of the same event.
    assert not losses.on_mark(10, 10)
    for _ in range(5):
        losses.on_received()
    assert losses.on_mark(11, 10)
    assert losses.intervals.lengths == [6, 20]
    assert (losses.events, losses.lost_messages) == (2, 0)
    # Lost within a round trip of it: the same event.
    assert not losses.on_loss(15, 10)
    assert losses.on_loss(22, 10)
    assert losses.lost_messages == 2


def test_the_literal_rule_counts_less_after_gaps() -> None:
    losses = LossEvents(is_literal=True)
    losses.on_loss(0, RTT)
    losses.begin(1, 0)
    seen = []
    for gap in (0, 1, 2, 3, 5, 10, None, 4, 0, 20, None, 0):
        if gap is None:
            losses.on_loss(0, RTT)
        else:
            losses.on_received(literal_message_weight(gap, 2, 0.1))
            seen.append(round(losses.intervals.current, 6))
    expected = [2, 3, 4, 4.9, 5.629, 6.059467, 1.81, 2.81, 2.960095, 2]
    assert seen == pytest.approx(expected)


@pytest.mark.parametrize(
    ("share", "record", "told"),
    [(0.05, 2, 0.0975), (0.5, 2, 0.75), (1.0, 1, 1.0), (0.05, 10, 0.40126)],
)
def test_how_likely_a_record_tells(share: float, record: int, told: float) -> None:
    assert detection_probability(share, record) == pytest.approx(told, abs=1e-5)


def test_what_records_do_not_tell_of_is_allowed_for() -> None:
    losses = LossEvents()
    losses.on_loss(0, RTT)
    losses.begin(100, 0)
    # What the first interval is taken to be is told by no record.
    assert losses.loss_event_rate == pytest.approx(0.01)
    told = detection_probability(0.5, 2)
    for _ in range(8):
        for _ in range(100):
            losses.on_received(told)
        losses.intervals.close()
    assert losses.loss_event_rate == pytest.approx(1 / 75, rel=0.02)
    losses.clear()
    assert not losses.has_events
    assert losses.loss_event_rate == 0
