"""The smallest lag of the last minutes, against all that were ever measured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.host.smallest_lag import STRETCH_NS, STRETCHES_MAX, SmallestLag
from penstock.kernel.instant import SECOND


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 100)), max_size=60))
def test_it_is_the_minimum_of_the_last_stretches(steps: list[tuple[int, int]]) -> None:
    smallest = SmallestLag()
    measured: list[tuple[int, int]] = []
    now = 0
    for wait_s, lag in steps:
        now += wait_s * SECOND
        measured.append((now // STRETCH_NS, lag))
        last = now // STRETCH_NS
        expected = min(each for at, each in measured if at > last - STRETCHES_MAX)
        assert smallest.add(lag, now=now) == expected
        assert len(smallest) <= STRETCHES_MAX


def test_it_takes_no_more_memory_however_often_is_measured() -> None:
    smallest = SmallestLag()
    for at in range(4 * 3_600):
        smallest.add(at, now=at * SECOND // 4)
    assert len(smallest) == STRETCHES_MAX
