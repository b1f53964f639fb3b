"""A token bucket against the naive twin: exact fractions, earned nanosecond by nanosecond."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.token_bucket import TokenBucket

RATES = st.floats(0.1, 5_000)
Step = tuple[str, int, float]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "try_take", "deposit", "set_rate", "ask"]),
        st.one_of(st.integers(0, 50), st.integers(0, 3 * SECOND)),
        st.floats(0.5, 30),
    ),
    max_size=60,
)


class Naive:
    """Earns with every step of the clock, without any rounding; it only goes forward."""

    def __init__(self, rate: float, depth: float, tokens: float, now: int) -> None:
        self.rate, self.depth = Fraction(rate), Fraction(depth)
        self.tokens, self.now = Fraction(tokens), now

    def pass_to(self, now: int) -> None:
        self.add((now - self.now) * self.rate / SECOND)
        self.now = now

    def add(self, amount: Fraction) -> None:
        self.tokens = min(self.depth, self.tokens + amount)


@given(RATES, STEPS)
def test_a_bucket_agrees_with_fractions(rate: float, steps: list[Step]) -> None:
    now, depth = 10 * SECOND, max(2.0, rate / 10)
    bucket = TokenBucket(rate, depth=depth, tokens=1.0, now=now)
    naive = Naive(rate, depth, 1.0, now)
    for verb, later_ns, amount in steps:
        now += later_ns
        naive.pass_to(now)
        if verb == "take":
            bucket.take(now, amount)
            naive.tokens -= Fraction(amount)
        elif verb == "try_take":
            is_there = naive.tokens >= Fraction(amount)
            is_close = abs(naive.tokens - Fraction(amount)) < 1e-6
            if bucket.try_take(now, amount):
                assert is_there or is_close
                naive.tokens -= Fraction(amount)
            else:
                assert not is_there or is_close
        elif verb == "deposit":
            bucket.deposit(amount)
            naive.add(Fraction(amount))
        elif verb == "set_rate":
            bucket.set_rate(100 * amount, now, depth=10 * amount)
            naive.rate, naive.depth = Fraction(100 * amount), Fraction(10 * amount)
            naive.add(Fraction(0))
        assert float(naive.tokens) == pytest.approx(bucket.available(now), abs=1e-6)
        if naive.tokens < 1:
            wait_ns = (1 - naive.tokens) * SECOND / naive.rate
            assert bucket.ready_at(now) - now == pytest.approx(float(wait_ns), abs=1_100, rel=1e-6)
        elif naive.tokens > 1 + 1e-6:
            assert bucket.ready_at(now) <= now


@given(RATES, st.lists(st.integers(0, SECOND), max_size=30), st.integers(0, 10))
def test_asking_more_often_changes_nothing(rate: float, waits: list[int], taken: int) -> None:
    asked, left_alone = (TokenBucket(rate, depth=5_000, tokens=2, now=0) for _ in range(2))
    now = 0
    for bucket in (asked, left_alone):
        bucket.take(0, taken)
    for wait_ns in waits:
        now += wait_ns
        asked.available(now)
        asked.ready_at(now)
        assert not asked.try_take(now, 5_001)
    # Bit for bit.
    assert asked.available(now) == left_alone.available(now)
    assert asked.ready_at(now) == left_alone.ready_at(now)


@given(st.floats(1, 5_000), st.lists(st.integers(0, 1_000_000), min_size=1, max_size=200))
def test_no_more_is_granted_than_comes(rate: float, steps_us: list[int]) -> None:
    bucket = TokenBucket(rate, depth=rate, tokens=rate)
    now = granted = 0
    for step_us in steps_us:
        now += step_us * 1_000
        granted += bucket.try_take(now)
    assert granted <= rate + rate * now / SECOND + 1e-6


@given(RATES, st.floats(-50, 0.99))
def test_who_waits_until_it_is_ready_finds_a_token(rate: float, tokens: float) -> None:
    bucket = TokenBucket(rate, depth=2, tokens=tokens, now=0)
    at = bucket.ready_at(0)
    assert bucket.available(at) >= 1 - 1e-9
    # Rounding up may take one nanosecond more.
    assert bucket.available(at - 2) < 1


def test_waiting_for_each_token_gives_the_rate() -> None:
    bucket, now = TokenBucket(7, depth=2, tokens=1.0, now=0), 0
    for _ in range(100):
        now = max(now, bucket.ready_at(now))
        bucket.take(now)
    assert now == pytest.approx(99 * SECOND / 7, rel=1e-6)


def test_what_is_taken_may_be_owed() -> None:
    bucket = TokenBucket(10, depth=2, tokens=2)
    bucket.take(0, 5)
    assert bucket.available(0) == -3
    assert not bucket.try_take(0)
    assert bucket.ready_at(0) == 400 * MILLISECOND
    assert bucket.try_take(400 * MILLISECOND)


def test_a_full_bucket_gives_its_depth_at_once_and_then_its_rate() -> None:
    bucket = TokenBucket.of_one_second(10)
    for now, granted in ((-SECOND, 10), (-SECOND // 2, 5), (100 * SECOND, 10)):
        assert [bucket.try_take(now) for _ in range(granted + 1)] == [True] * granted + [False]


def test_less_than_one_a_second_is_one_at_a_time() -> None:
    bucket = TokenBucket.of_one_second(0.5)
    assert [bucket.try_take(at * SECOND) for at in range(5)] == [True, False, True, False, True]


def test_the_last_token_is_there_exactly_in_time() -> None:
    bucket = TokenBucket(1, depth=1, tokens=1)
    assert bucket.try_take(0)
    assert not bucket.try_take(SECOND - 1)
    assert bucket.try_take(SECOND)


def test_all_or_nothing_is_taken() -> None:
    bucket = TokenBucket(200, depth=4_000, tokens=4_000)
    assert bucket.try_take(0, 3_999)
    assert not bucket.try_take(0, 2)
    assert bucket.available(0) == 1
    assert bucket.try_take(0, 1)


def test_a_deposit_beyond_the_depth_is_lost_and_one_that_pays_a_debt_makes_ready() -> None:
    bucket = TokenBucket(10, depth=4, tokens=4)
    bucket.deposit(1)
    assert bucket.available(0) == 4
    bucket.take(0, 6)
    assert bucket.ready_at(0) == 300 * MILLISECOND
    bucket.deposit(2.5)
    assert bucket.ready_at(0) == 50 * MILLISECOND
    bucket.deposit(1)
    assert bucket.ready_at(0) == 0


@pytest.mark.parametrize("verb", ["take", "try_take", "available", "ready_at"])
def test_a_clock_set_back_neither_earns_nor_blocks(verb: str) -> None:
    bucket = TokenBucket(10, depth=10, tokens=0, now=3_600 * SECOND)
    getattr(bucket, verb)(0)
    owed = 1 if verb == "take" else 0
    assert bucket.available(0) == -owed
    assert bucket.available(SECOND // 2) == 5 - owed
    assert bucket.ready_at(0) == (1 + owed) * SECOND // 10


@given(RATES, st.integers(0, SECOND), st.integers(1, 2 * SECOND), st.integers(0, SECOND))
def test_a_clock_set_back_loses_what_was_earned_since_the_last_change(
    rate: float, later_ns: int, back_ns: int, then_ns: int
) -> None:
    bucket = TokenBucket(rate, depth=9_000, tokens=3, now=0)
    bucket.take(0)
    bucket.available(later_ns)
    now = -back_ns
    assert bucket.available(now) == 2
    assert bucket.available(now + then_ns) == 2 + then_ns * rate / SECOND


def test_another_rate_holds_from_now_on() -> None:
    bucket = TokenBucket(10, depth=10, tokens=0, now=0)
    bucket.set_rate(2, SECOND // 2, depth=4)
    assert bucket.available(SECOND // 2) == 4
    bucket.take(SECOND // 2, 4)
    bucket.set_rate(100, SECOND, depth=50)
    assert (bucket.available(SECOND), bucket.available(2 * SECOND)) == (1, 50)


def test_misuse_is_our_own_bug() -> None:
    bucket = TokenBucket(1, depth=1, tokens=1)
    for rate in (0, -1, inf):
        with pytest.raises(AssertionError):
            TokenBucket(rate, depth=1, tokens=1)
        with pytest.raises(AssertionError):
            bucket.set_rate(rate, 0, depth=1)
    with pytest.raises(AssertionError):
        # One token never fits.
        TokenBucket(1, depth=0.5, tokens=0.5)
    with pytest.raises(AssertionError):
        TokenBucket(1, depth=1, tokens=2, now=0)
    with pytest.raises(AssertionError):
        # Since when would it fill?
        TokenBucket(1, depth=2, tokens=1)
    with pytest.raises(AssertionError):
        bucket.deposit(-1)
