"""Round trips, rates and silence."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND
from penstock.tfrc.rate_meter import RateMeter
from penstock.tfrc.round_trip import INITIAL_ROUND_TRIP_NS, RoundTrip
from penstock.transport.congestion.receiver.suppression import feedback_wait_ns, is_already_limited

# Round trips.


@pytest.mark.parametrize("clocks_ns", [0, 5 * SECOND, -7 * SECOND])
def test_what_the_clocks_are_apart_does_not_matter(clocks_ns: int) -> None:
    rtt = RoundTrip()
    assert rtt.mean_ns == INITIAL_ROUND_TRIP_NS
    there, back = 30 * MILLISECOND, 70 * MILLISECOND
    rtt.on_echo(there + back, back + clocks_ns, is_limiting=True)
    assert rtt.mean_ns == 100 * MILLISECOND
    # A queue grows on the way here.
    for now in range(0, 10 * SECOND, 10 * MILLISECOND):
        rtt.on_message(back + 50 * MILLISECOND + clocks_ns, now)
    assert rtt.mean_ns == pytest.approx(150 * MILLISECOND, rel=1e-3)
    assert rtt.one_way_ns - clocks_ns == back + 50 * MILLISECOND


def test_a_limiting_receiver_is_steadier() -> None:
    both = []
    for is_limiting in (True, False):
        rtt = RoundTrip()
        rtt.on_echo(100 * MILLISECOND, 0, is_limiting=is_limiting)
        rtt.on_echo(200 * MILLISECOND, 0, is_limiting=is_limiting)
        both.append(rtt.mean_ns // MILLISECOND)
    assert both == [110, 150]


def test_a_round_trip_is_never_nothing() -> None:
    rtt = RoundTrip()
    rtt.on_echo(-5, 0, is_limiting=False)
    for now in range(2_000):
        rtt.on_message(-SECOND, now)
    assert rtt.mean_ns >= MILLISECOND


# Rates.


@given(rate=st.integers(5, 5_000), over_ms=st.sampled_from([10, 200, 500, 2_000]))
def test_a_steady_rate_is_measured(rate: int, over_ms: int) -> None:
    meter = RateMeter()
    meter.set_interval(over_ms * MILLISECOND)
    now = 0
    while now < 4 * SECOND:
        meter.count(now)
        now += SECOND // rate
    per_stretch = rate * max(over_ms, 200) / 1_000
    assert meter.rate(now) == pytest.approx(rate, rel=0.01 + 1.5 / per_stretch)


@given(
    steps=st.lists(st.tuples(st.integers(0, 60_000), st.integers(1, 5), st.booleans()), min_size=1)
)
def test_a_meter_counts_as_one_does_who_keeps_everything(
    steps: list[tuple[int, int, bool]],
) -> None:
    """Eight slots of 25 ms, of which the last is not over."""
    meter, kept, now, width_ns = RateMeter(), list[tuple[int, int]](), 0, 25 * MILLISECOND
    for step_us, amount, is_asked in steps:
        now += step_us * MICROSECOND
        meter.count(now, amount)
        kept.append((now, amount))
        if is_asked:
            oldest = now // width_ns - 8
            total = sum(amount for at, amount in kept if at // width_ns > oldest)
            over_ns = max(width_ns, min(7 * width_ns + now % width_ns, now - kept[0][0]))
            assert meter.rate(now) == pytest.approx(total * SECOND / over_ns)


def test_what_was_long_ago_does_not_count() -> None:
    meter = RateMeter()
    for i in range(100):
        meter.count(i * MILLISECOND)
    assert meter.rate(10 * SECOND) == 0
    meter.count(10 * SECOND, 3)
    assert meter.rate(10 * SECOND + 100 * MILLISECOND) > 0


def test_another_stretch_keeps_what_was_counted() -> None:
    meter = RateMeter()
    now = 0
    for _ in range(2_000):
        meter.count(now)
        now += MILLISECOND
    meter.set_interval(SECOND)
    assert meter.rate(now) > 100
    for _ in range(2_000):
        meter.count(now)
        now += MILLISECOND
    assert meter.rate(now) == pytest.approx(1_000, rel=0.02)


# Silence.


@pytest.mark.parametrize(
    ("draw", "wait_s"),
    [(1, 3), (0.5, 2.7742), (0.1, 2.25), (0.01, 1.5), (0.001, 0.75), (1e-4, 0), (0, 0)],
)
def test_the_wait_agrees_with_the_vectors(draw: float, wait_s: float) -> None:
    assert feedback_wait_ns(3 * SECOND, 10_000, draw) / SECOND == pytest.approx(wait_s, abs=5e-5)


def test_few_speak_before_the_first_is_heard() -> None:
    draws = Random(1)
    spoke = []
    for _ in range(50):
        times = sorted(feedback_wait_ns(3 * SECOND, 10_000, draws.random()) for _ in range(10_000))
        heard = times[0] + 200 * MILLISECOND
        spoke.append(sum(at <= heard for at in times))
    assert sum(spoke) / len(spoke) < 10


def test_a_rate_a_little_higher_is_as_good() -> None:
    assert is_already_limited(100, 100)
    assert is_already_limited(110, 100)
    assert not is_already_limited(112, 100)
