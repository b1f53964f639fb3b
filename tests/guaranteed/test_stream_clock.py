"""A stream clock never gives a tick twice: not in one life, and not after a restart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.stream_clock import LEASE_NS, StreamClock
from penstock.guaranteed.tick import duration_ticks, ms_of, tick_of
from penstock.kernel.instant import MILLISECOND, SECOND

WALL_MS = 1_700_000_000_000
START = 5 * SECOND + 123


def clock_at(wall_ms: int = WALL_MS, *, lease: int = 0) -> StreamClock:
    return StreamClock(START, wall_ms, lease)


def test_stream_time_starts_at_the_wall_clock_and_runs_with_the_monotonic_one() -> None:
    clock = clock_at()
    assert clock.now_tick(START) == tick_of(WALL_MS)
    assert clock.now_tick(START + MILLISECOND - 1) == tick_of(WALL_MS)
    assert clock.now_tick(START + MILLISECOND) == tick_of(WALL_MS + 1)
    assert clock.now_tick(START + 3_600 * SECOND) == tick_of(WALL_MS + 3_600_000)


def test_messages_of_one_millisecond_get_consecutive_ticks() -> None:
    clock = clock_at()
    first = tick_of(WALL_MS)
    assert [clock.next_tick(START) for _ in range(3)] == [first, first + 1, first + 2]
    assert clock.last == first + 2
    assert clock.next_tick(START + MILLISECOND) == tick_of(WALL_MS + 1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3 * MILLISECOND)), max_size=30))
def test_no_message_gets_a_tick_of_which_silence_was_said(steps: list[tuple[bool, int]]) -> None:
    clock, now, silent, given_out = clock_at(), START, 0, [0]
    for publishes, wait_ns in steps:
        now += wait_ns
        if publishes:
            given_out.append(clock.next_tick(now))
            assert given_out[-1] >= silent
            assert given_out[-1] > given_out[-2]
        else:
            silent = max(silent, clock.now_tick(now))


def test_a_lease_lies_two_seconds_ahead_and_is_renewed_when_one_is_left() -> None:
    clock = clock_at()
    assert clock.needs_renewal(START)
    lease = clock.lease(START)
    assert lease == tick_of(WALL_MS + 2_000)
    at = clock.renewal_at
    assert at == START + SECOND
    assert not clock.needs_renewal(at - 1)
    assert clock.needs_renewal(at)
    assert clock.lease(at) == lease + duration_ticks(SECOND)
    assert not clock.needs_renewal(at)


@given(st.lists(st.integers(-3 * SECOND, 3 * SECOND), max_size=20))
def test_neither_ticks_nor_leases_move_back_even_if_the_host_clock_does(steps: list[int]) -> None:
    clock, now = clock_at(), START
    tick, lease, message = clock.now_tick(now), clock.lease(now), clock.next_tick(now)
    for step_ns in steps:
        now += step_ns
        assert tick <= (tick := clock.now_tick(now))
        assert lease <= (lease := clock.lease(now))
        assert message < (message := clock.next_tick(now))
        assert clock.renewal_at - now <= LEASE_NS
        assert not clock.needs_renewal(now)


def test_after_a_clock_went_back_stream_time_goes_on_at_once() -> None:
    clock = clock_at()
    before = clock.now_tick(START + 10 * SECOND)
    assert clock.now_tick(START) == before
    assert clock.now_tick(START + SECOND) == before + duration_ticks(SECOND)


lives = st.lists(
    st.tuples(
        # Where the monotonic and the wall clock begin: the machine may have been started anew.
        st.integers(0, 10**15),
        st.integers(WALL_MS - 10**7, WALL_MS + 10**7),
        # When messages are published, and whether the log takes a lease with them.
        st.lists(st.tuples(st.integers(0, 4 * SECOND), st.booleans()), max_size=10),
    ),
    min_size=1,
    max_size=6,
)


@given(lives)
def test_a_restart_gives_only_higher_ticks_whatever_the_wall_clock_says(
    lives: list[tuple[int, int, list[tuple[int, bool]]]],
) -> None:
    synced = highest = 0
    for started, wall_ms, steps in lives:
        clock, now = StreamClock(started, wall_ms, synced), started
        assert clock.now_tick(now) > synced
        for wait_ns, is_synced in steps:
            now += wait_ns
            lease, tick = clock.lease(now), clock.next_tick(now)
            if is_synced:
                synced = lease
            # A pubend says nothing above the synced lease.
            if tick <= synced:
                assert tick > highest
                highest = tick


def test_stepping_the_wall_clock_changes_only_what_is_shown() -> None:
    clock = clock_at()
    assert clock.published_ns(START + 7) == WALL_MS * MILLISECOND + 7
    clock.set_wall(1_000, START + SECOND)
    assert clock.published_ns(START + SECOND + 5) == 1_005
    assert ms_of(clock.now_tick(START + SECOND)) == WALL_MS + 1_000


def test_a_wall_clock_behind_the_lease_is_noticed() -> None:
    lease = tick_of(WALL_MS) + 17
    for behind_ms, is_behind, was_set_back in [
        (-1, False, False),
        (0, True, False),
        # After some quick restarts, each of which moves stream time ahead by up to 2 s.
        (60_000, True, False),
        (60_001, True, True),
        (86_400_000, True, True),
    ]:
        clock = clock_at(WALL_MS - behind_ms, lease=lease)
        assert clock.is_wall_behind_lease is is_behind
        assert clock.was_wall_set_back is was_set_back
        assert clock.now_tick(START) == tick_of(WALL_MS + 1)
        assert clock.published_ns(START) == (WALL_MS - behind_ms) * MILLISECOND
    assert not clock_at().is_wall_behind_lease
