"""Counting messages by ticks, against a list of all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.pubend.message_counts import ENTRIES_MAX, MessageCounts
from penstock.guaranteed.tick import TICKS_PER_MS


@given(
    st.lists(st.tuples(st.integers(1, 500 * TICKS_PER_MS), st.integers(1, 20)), max_size=80),
    st.integers(0, 40_000 * TICKS_PER_MS),
    st.integers(0, 40_000 * TICKS_PER_MS),
)
def test_it_is_off_by_what_was_logged_within_a_slot(
    steps: list[tuple[int, int]], one: int, other: int
) -> None:
    counts, tick, logged = MessageCounts(0), 0, []
    for ticks, messages in steps:
        tick += ticks
        counts.add(tick, messages)
        logged.append((tick, messages))
    after, upto = min(one, other), max(one, other)
    exact = sum(messages for at, messages in logged if after < at <= upto)
    slot = 20 * TICKS_PER_MS
    unsure = sum(
        messages for at, messages in logged if min(abs(at - after), abs(at - upto)) <= 2 * slot
    )
    assert abs(counts.between(after, upto) - exact) <= unsure + 1e-6


def test_all_of_them_are_always_counted() -> None:
    counts = MessageCounts(0)
    for second in range(3 * ENTRIES_MAX):
        counts.add(second * 1_000 * TICKS_PER_MS, 3)
    assert len(counts) < ENTRIES_MAX
    last = 3 * ENTRIES_MAX * 1_000 * TICKS_PER_MS
    assert counts.between(0, last) == 3 * (3 * ENTRIES_MAX - 1)
    hour = 3_600_000 * TICKS_PER_MS
    assert abs(counts.between(last - hour, last) - 3 * 3_600) <= 6
    assert abs(counts.between(hour, 2 * hour) - 3 * 3_600) < 3_600
