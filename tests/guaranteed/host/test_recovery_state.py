"""When reader 0 begins to recover, and when that is over."""

from __future__ import annotations

from penstock.guaranteed.host.recovery_state import RecoveryState
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import MILLISECOND, SECOND

S = duration_ticks(SECOND)
WINDOW = 10 * S


def test_a_recovery_begins_beyond_the_window_and_ends_near_the_newest_tick() -> None:
    state = RecoveryState(WINDOW)
    assert not state.is_beyond(0, WINDOW)
    assert state.is_beyond(0, WINDOW + 1)
    state.begin()
    found = []
    # The pubend goes on meanwhile.
    for doubt, newest in [(5, 20), (20, 22), (21, 22)]:
        state.review(doubt * S, newest * S, now=0)
        found.append(state.is_recovering)
    assert found == [True, True, False]


def test_a_recovery_lasts_until_nothing_was_ignored_for_two_seconds() -> None:
    state = RecoveryState(WINDOW)
    state.begin()
    state.ignored(now=SECOND)
    state.review(10 * S, 10 * S, now=2 * SECOND)
    assert state.ends_at == 3 * SECOND
    state.ignored(now=2 * SECOND + 500 * MILLISECOND)
    state.review(10 * S, 10 * S, now=3 * SECOND)
    assert state.ends_at == 4 * SECOND + 500 * MILLISECOND
    # It may fall behind once more.
    found: list[tuple[bool, int | None]] = []
    for at_s, doubt in [(4, 10), (5, 12)]:
        state.review(doubt * S, 13 * S, now=at_s * SECOND)
        found.append((state.is_recovering, state.ends_at))
    assert found == [(True, None), (False, None)]


def test_what_was_ignored_in_an_earlier_recovery_does_not_count() -> None:
    state = RecoveryState(WINDOW)
    state.begin()
    state.ignored(now=0)
    state.review(0, 0, now=2 * SECOND)
    state.begin()
    state.review(0, 0, now=0)
    assert not state.is_recovering


def test_with_a_short_window_a_recovery_ends_nearer_than_it_begins() -> None:
    state = RecoveryState(S // 2)
    state.begin()
    found = []
    for newest in (S // 2, S // 4):
        state.review(0, newest, now=0)
        found.append(state.is_recovering)
    assert found == [True, False]
