"""How far away others are: right on our own clock, and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

WRAP = (1 << ECHO_STAMP_BITS) * MICROSECOND


def echo(distances: PeerDistances, peer: int, sent: int, rtt: int, hold: int = 0) -> bool:
    """What left at `sent` comes back after `rtt`, and having been held for `hold`."""
    stamp = stamp_us(sent, ECHO_STAMP_BITS)
    return distances.on_echo(peer, stamp, hold, now=sent + rtt + hold)


def test_a_distance_is_half_of_a_round_trip_without_what_was_held() -> None:
    distances = PeerDistances()
    assert echo(distances, 1, 5 * SECOND, 60 * MILLISECOND, hold=2 * SECOND)
    assert distances.distance_ns(1) == 30 * MILLISECOND


def test_the_first_counts_whole_and_later_ones_a_quarter() -> None:
    distances = PeerDistances()
    for rtt_ms, expected_ms in ((80, 40), (160, 50), (40, 42.5)):
        echo(distances, 1, SECOND, rtt_ms * MILLISECOND)
        assert distances.distance_ns(1) == expected_ms * MILLISECOND


def test_without_an_echo_a_hint_counts_and_without_a_hint_the_default() -> None:
    distances = PeerDistances(70 * MILLISECOND)
    assert distances.distance_ns(1) == 70 * MILLISECOND
    distances.on_peer(1)
    assert distances.distance_ns(1) == 70 * MILLISECOND
    distances.on_hint(1, 20 * MILLISECOND)
    assert distances.distance_ns(1) == 20 * MILLISECOND
    distances.on_hint(1, 40 * MILLISECOND)
    assert distances.distance_ns(1) == 25 * MILLISECOND
    echo(distances, 1, SECOND, 60 * MILLISECOND)
    assert distances.distance_ns(1) == 30 * MILLISECOND
    distances.on_hint(1, 40 * MILLISECOND)
    assert distances.distance_ns(1) == 30 * MILLISECOND


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (-3_600 * SECOND, 70 * MILLISECOND),
        (-1, 70 * MILLISECOND),
        (0, MILLISECOND),
        (SECOND, SECOND),
        (9**20, 70 * MILLISECOND),
    ],
)
def test_clocks_that_differ_make_no_absurd_hint(hint: int, expected: int) -> None:
    distances = PeerDistances(70 * MILLISECOND)
    distances.on_hint(1, hint)
    assert distances.distance_ns(1) == expected


def test_nobody_is_nowhere_away() -> None:
    """Whoever waits a multiple of the distance waits."""
    distances = PeerDistances()
    assert echo(distances, 1, SECOND, 0)
    assert distances.distance_ns(1) == MICROSECOND


@given(st.integers(0, 20 * WRAP), st.integers(0, 10 * SECOND), st.integers(0, 6 * SECOND))
def test_stamps_may_wrap(sent: int, rtt: int, hold: int) -> None:
    distances = PeerDistances()
    # A stamp is of whole microseconds.
    is_taken = echo(distances, 1, sent, rtt, hold)
    if MICROSECOND <= rtt <= 10 * SECOND - MICROSECOND:
        assert is_taken
        assert abs(distances.distance_ns(1) - rtt / 2) <= MICROSECOND
    assert is_taken or distances.rejected_echoes == 1


@pytest.mark.parametrize(
    ("sent", "hold"),
    [
        # From the future; held longer than it was away; too long ago; held for less than nothing.
        (100 * SECOND + MILLISECOND, 0),
        (99 * SECOND, 2 * SECOND),
        (89 * SECOND, 0),
        (99 * SECOND, -SECOND),
    ],
)
def test_what_cannot_be_is_refused(sent: int, hold: int) -> None:
    distances = PeerDistances()
    stamp = stamp_us(sent, ECHO_STAMP_BITS)
    assert not distances.on_echo(1, stamp, hold, now=100 * SECOND)
    assert (distances.rejected_echoes, distances.peer_count, distances.distance_ns(1)) == (
        1,
        0,
        100 * MILLISECOND,
    )


def test_those_heard_longest_ago_are_forgotten_first() -> None:
    distances = PeerDistances(peers_max=2)
    echo(distances, 1, SECOND, 20 * MILLISECOND)
    echo(distances, 2, SECOND, 40 * MILLISECOND)
    distances.on_peer(1)
    distances.on_peer(3)
    assert (distances.peer_count, distances.evicted) == (2, 1)
    assert distances.distance_ns(1) == 10 * MILLISECOND
    assert distances.distance_ns(2) == 100 * MILLISECOND


@given(st.lists(st.tuples(st.sampled_from("heo"), st.integers(0, 12)), max_size=100))
def test_it_remembers_the_last_heard_as_a_list_would(steps: list[tuple[str, int]]) -> None:
    distances = PeerDistances(peers_max=5)
    last: list[int] = []
    for kind, peer in steps:
        if kind == "o":
            # Looking is not hearing.
            distances.distance_ns(peer)
            continue
        if kind == "h":
            distances.on_peer(peer)
        else:
            echo(distances, peer, SECOND, (peer + 1) * MILLISECOND)
        last = [*[p for p in last if p != peer], peer][-5:]
        assert distances.peer_count == len(last)
        assert all(
            distances.distance_ns(p) == 100 * MILLISECOND for p in range(13) if p not in last
        )


def test_impossible_bounds_are_refused() -> None:
    with pytest.raises(UsageError):
        PeerDistances(0)
    with pytest.raises(UsageError):
        PeerDistances(peers_max=0)
