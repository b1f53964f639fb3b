"""The log of the sequence numbers that a stream gave up."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.order.missing import GivenUpLog


def test_a_higher_bound_holds_at_once() -> None:
    """Seed 1388 of the endpoint swarm: the log kept the bound of the first ordering."""
    log = GivenUpLog()
    log.add(5, 1)
    log.add(9, 10)
    assert len(log) == 2
    assert [log.contains(seq) for seq in (4, 5, 6, 9)] == [False, True, False, True]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=40))
def test_a_log_agrees_with_a_list_whatever_the_bounds(steps: list[tuple[int, int]]) -> None:
    log, recent, all_below = GivenUpLog(), deque[int](), -1
    for seq, entries_max in steps:
        log.add(seq, entries_max)
        if seq not in recent:
            recent.append(seq)
        if len(recent) > entries_max:
            all_below = max(all_below, recent.popleft() + 1)
        assert len(log) == len(recent)
        for each in range(-1, 42):
            assert log.contains(each) is (each in recent or each < all_below)
