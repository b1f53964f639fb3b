"""Ticks carry milliseconds and a counter, and differ by a duration."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.tick import (
    TICKS_PER_MS,
    duration_ns,
    duration_ticks,
    ms_of,
    seconds_between,
    tick_of,
)
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.guaranteed.base import TICK_MAX


@given(st.integers(0, 2**44 - 2), st.integers(0, TICKS_PER_MS - 1))
def test_a_tick_lies_in_its_millisecond(ms: int, counter: int) -> None:
    tick = tick_of(ms) | counter
    assert ms_of(tick) == ms
    assert tick_of(ms) <= tick < tick_of(ms + 1) <= TICK_MAX


@given(st.integers(0, 10**18))
def test_a_duration_survives_its_ticks(ns: int) -> None:
    assert 0 <= ns - duration_ns(duration_ticks(ns)) <= 1


def test_durations_and_differences() -> None:
    assert duration_ticks(250 * MILLISECOND) == 250 * TICKS_PER_MS
    assert duration_ns(TICKS_PER_MS) == MILLISECOND
    assert duration_ns(duration_ticks(SECOND)) == SECOND
    assert seconds_between(tick_of(1_000), tick_of(3_500)) == 2.5
    assert seconds_between(tick_of(3_500), tick_of(1_000)) == -2.5
