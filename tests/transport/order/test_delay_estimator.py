"""The scale of delay differences: right for the law, robust against clocks."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.order.delay_estimator import LITERAL, DelayEstimator, EstimatorSettings


def feed(estimator: DelayEstimator, count: int, *, rate: float, seed: int = 1) -> None:
    """Messages at random times over two brokers of 4 ms each, as they arrive."""
    rng = random.Random(seed)
    sent = list(accumulate(round(rng.expovariate(rate) * SECOND) for _ in range(count)))
    came = [at + round(rng.gammavariate(2, 4 * MILLISECOND)) for at in sent]
    for arrived, departed in sorted(zip(came, sent, strict=True)):
        estimator.on_arrival(departed, now=arrived)


@pytest.mark.spec("F5")
@pytest.mark.parametrize("rate", [50, 200, 1200])
def test_the_scale_is_that_of_the_law(rate: float) -> None:
    estimator = DelayEstimator(EstimatorSettings(samples_max=20_000, prior_samples=0))
    feed(estimator, 20_000, rate=rate)
    assert estimator.scale_ns == pytest.approx(4 * MILLISECOND, rel=0.03)


@pytest.mark.spec("F4")
def test_the_first_latch_rests_on_the_prior_and_the_literal_one_on_nothing() -> None:
    assert DelayEstimator().scale_ns == 5 * MILLISECOND
    assert DelayEstimator(LITERAL).scale_ns == 0
    literal = DelayEstimator(LITERAL)
    literal.on_arrival(0, now=0)
    literal.on_arrival(10 * MILLISECOND, now=25 * MILLISECOND)
    # Divided by 25 though there is one.
    assert literal.scale_ns == pytest.approx(15 * MILLISECOND * 2 / 3 / 25)


def test_the_ring_forgets() -> None:
    estimator = DelayEstimator(EstimatorSettings(samples_max=10, prior_samples=0))
    for i in range(50):
        estimator.on_arrival(i * 10 * MILLISECOND, now=i * 10 * MILLISECOND + (i % 2) * MILLISECOND)
    assert len(estimator) == 10
    assert estimator.scale_ns == pytest.approx(MILLISECOND * 2 / 3)
    for i in range(50, 70):
        estimator.on_arrival(i * 10 * MILLISECOND, now=i * 10 * MILLISECOND)
    assert estimator.scale_ns == 0


@pytest.mark.spec("F16")
def test_long_gaps_say_nothing() -> None:
    estimator = DelayEstimator()
    estimator.on_arrival(0, now=0)
    estimator.on_arrival(2 * SECOND, now=2 * SECOND + 50 * MILLISECOND)
    assert len(estimator) == 0
    estimator.on_arrival(2 * SECOND + 1, now=2 * SECOND + 51 * MILLISECOND)
    assert len(estimator) == 1


@pytest.mark.spec("F15")
def test_a_clock_that_is_set_once_is_not_believed_and_a_lasting_change_is() -> None:
    estimator = DelayEstimator()
    feed(estimator, 200, rate=100)
    before = estimator.scale_ns
    now = 10 * SECOND
    estimator.on_arrival(now, now=now)
    estimator.on_arrival(now + MILLISECOND, now=now + SECOND)
    assert estimator.rejected == 1
    assert estimator.scale_ns == pytest.approx(before, rel=0.1)
    for i in range(1, 3):
        estimator.on_arrival(now + i * MILLISECOND, now=now + SECOND + i * 500 * MILLISECOND)
    assert len(estimator) == 1
    assert estimator.scale_ns > 10 * before


def test_reordering_makes_negative_gaps_and_is_sampled() -> None:
    estimator = DelayEstimator(EstimatorSettings(prior_samples=0))
    estimator.on_arrival(10 * MILLISECOND, now=20 * MILLISECOND)
    estimator.on_arrival(5 * MILLISECOND, now=21 * MILLISECOND)
    # The second took 16 ms, the first 10.
    assert estimator.samples == (6 * MILLISECOND,)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UsageError):
        EstimatorSettings(samples_max=0)
