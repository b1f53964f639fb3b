"""When a reader asks again: what is on its way is not asked for twice."""

from __future__ import annotations

from penstock.guaranteed.host.gap_requests import GapRequests
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import MILLISECOND, SECOND

RANGE = duration_ticks(100 * MILLISECOND)
END = 1_000 * RANGE


def asks(requests: GapRequests, doubt: int, now: int) -> int:
    """How many ranges are asked for, if all from `doubt` on is unknown."""
    return len(requests.due(doubt, [(doubt, END)], now=now))


def test_a_request_without_an_answer_is_repeated_at_growing_intervals() -> None:
    requests = GapRequests(HostSettings())
    assert asks(requests, 0, 0) == 10
    times: list[float] = []
    now = 0
    while len(times) < 5:
        at = requests.next_wakeup()
        assert at is not None
        now = at
        assert asks(requests, 0, now) == 10
        times.append(now / SECOND)
    assert times == [0.5, 1.5, 3.5, 7.5, 11.5]


def test_answers_that_take_long_are_waited_for() -> None:
    """One range comes every 2 s, in order: after the first answers nothing is repeated."""
    requests = GapRequests(HostSettings())
    doubt = now = 0
    repeated: list[tuple[int, int]] = []
    asks(requests, doubt, now)
    for step in range(1, 60):
        until = step * 2 * SECOND
        while (at := requests.next_wakeup()) is not None and at < until:
            now = at
            repeated.append((step, asks(requests, doubt, now)))
        doubt, now = doubt + RANGE, until
        asks(requests, doubt, now)
    assert repeated
    assert max(step for step, _ in repeated) < 40


def test_a_range_that_was_asked_for_twice_says_nothing_of_the_time_of_answers() -> None:
    requests = GapRequests(HostSettings())
    asks(requests, 0, 0)
    asks(requests, 0, SECOND // 2)
    # Nobody knows which of the two was answered.
    asks(requests, 10 * RANGE, SECOND // 2 + MILLISECOND)
    at = requests.next_wakeup()
    assert at is not None
    assert at - (SECOND // 2 + MILLISECOND) >= SECOND


def test_a_fixed_time_does_not_grow() -> None:
    requests = GapRequests(HostSettings(nack_retry_ns=6 * SECOND, nack_retry_adapts=False))
    times: list[float] = []
    asks(requests, 0, 0)
    while len(times) < 3:
        at = requests.next_wakeup()
        assert at is not None
        assert asks(requests, 0, at) == 10
        times.append(at / SECOND)
    assert times == [6, 12, 18]
