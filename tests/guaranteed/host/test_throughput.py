"""The smoothed rate of a doubt horizon, against a naive twin that looks once every second."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.host.throughput import Throughput
from penstock.guaranteed.tick import TICKS_PER_MS
from penstock.kernel.instant import MILLISECOND, SECOND

# After so many milliseconds the horizon has moved by so many.
Moves = list[tuple[int, int]]


def naive_rate(moves: Moves) -> float:
    """Looks at every single millisecond."""
    moved: dict[int, int] = {}
    at = 0
    for wait_ms, by_ms in moves:
        at += wait_ms
        moved[at] = moved.get(at, 0) + by_ms
    rate, before, doubt = 1.0, 0, 0
    for ms in range(at + 1):
        if ms and ms % 1_000 == 0:
            rate = 0.9 * rate + 0.1 * (doubt - before) / 1_000
            before = doubt
        # What happens at the very instant of a sample counts for the next.
        doubt += moved.get(ms, 0)
    return rate


@given(st.lists(st.tuples(st.integers(0, 3_500), st.integers(0, 5_000)), max_size=20))
def test_it_is_what_looking_every_second_finds(moves: Moves) -> None:
    throughput = Throughput(0, now=0)
    now = doubt = 0
    for wait_ms, by_ms in moves:
        now += wait_ms * MILLISECOND
        throughput.observe(doubt, now=now)
        doubt += by_ms * TICKS_PER_MS
    assert throughput.rate == pytest.approx(naive_rate(moves))


def test_while_a_link_is_down_no_samples_are_taken() -> None:
    throughput = Throughput(0, now=0)
    throughput.pause()
    throughput.observe(0, now=100 * SECOND)
    throughput.resume(0, now=100 * SECOND)
    throughput.observe(0, now=100 * SECOND + 900 * MILLISECOND)
    assert throughput.rate == 1.0
    throughput.observe(0, now=101 * SECOND)
    assert throughput.rate == pytest.approx(0.9)


def test_a_new_beginning_is_smoothed_from_there() -> None:
    throughput = Throughput(0, now=0)
    throughput.restart(2.0)
    throughput.observe(1_000 * TICKS_PER_MS, now=SECOND)
    assert throughput.rate == pytest.approx(1.9)
