"""When a reader asks again: what is on its way is not asked for twice."""

from __future__ import annotations

from penstock.guaranteed.host.gap_requests import GapRequests
from penstock.guaranteed.host.request_window import request_window
from penstock.guaranteed.settings import CongestionSettings, HostSettings, WindowLawName
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import MILLISECOND, SECOND, Duration

RANGE = duration_ticks(100 * MILLISECOND)
END = 1_000 * RANGE


def requests_of(law: WindowLawName = "fixed", *, retry_ns: Duration | None = None) -> GapRequests:
    settings = HostSettings()
    window = request_window(settings, CongestionSettings(window_law=law))
    return GapRequests(settings, window=window, retry_ns=retry_ns)


def asks(requests: GapRequests, doubt: int, now: int) -> int:
    """How many ranges are asked for, if all from `doubt` on is unknown."""
    return len(requests.due(doubt, [(doubt, END)], now=now))


def test_a_request_without_an_answer_is_repeated_at_growing_intervals() -> None:
    requests = requests_of()
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
    requests = requests_of()
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


def test_a_way_that_carries_one_answer_in_six_seconds_is_not_filled_with_repetitions() -> None:
    """Else none of them is measured, and most of what comes is known already."""
    requests = requests_of("vegas")
    requests.begin_recovery()
    doubt = now = free_at = sent = 0
    # When what was asked for has come, and up to where.
    coming: list[tuple[int, int]] = []

    def ask() -> None:
        nonlocal free_at, sent
        for _, stop in requests.due(doubt, [(doubt, END)], now=now):
            free_at = max(free_at, now) + 6 * SECOND
            coming.append((free_at, stop))
            sent += 1

    ask()
    while doubt < 20 * RANGE:
        at = requests.next_wakeup()
        assert at is not None
        if at < coming[0][0]:
            now = at
        else:
            now, stop = coming.pop(0)
            if stop <= doubt:
                requests.came_again(now=now)
            doubt = max(doubt, stop)
        ask()
    assert sent <= 35


def test_a_range_that_was_asked_for_twice_says_nothing_of_the_time_of_answers() -> None:
    requests = requests_of()
    asks(requests, 0, 0)
    asks(requests, 0, SECOND // 2)
    # Nobody knows which of the two was answered.
    asks(requests, 10 * RANGE, SECOND // 2 + MILLISECOND)
    at = requests.next_wakeup()
    assert at is not None
    assert at - (SECOND // 2 + MILLISECOND) >= SECOND


def test_a_fixed_time_to_the_next_request_is_the_same_each_time() -> None:
    requests = requests_of(retry_ns=6 * SECOND)
    asks(requests, 0, 0)
    for attempt in range(1, 6):
        assert requests.next_wakeup() == attempt * 6 * SECOND
        assert asks(requests, 0, attempt * 6 * SECOND) == 10


def test_without_a_window_all_that_is_received_is_asked_for_at_once_in_long_ranges() -> None:
    requests = requests_of("none")
    ranges = requests.due(0, [(0, END)], now=0)
    assert [stop - start for start, stop in ranges] == [6 * RANGE] * 16


def test_each_message_that_comes_does_not_have_a_sliver_asked_for() -> None:
    requests = requests_of()
    asks(requests, 0, 0)
    assert [asks(requests, doubt, 0) for doubt in (1, RANGE // 2, RANGE - 1, RANGE)] == [0, 0, 0, 1]
    assert asks(requests, 3 * RANGE - 1, 0) == 1
    assert asks(requests, 3 * RANGE + 7, 0) == 1


def recover(requests: GapRequests, capacity: float, round_trips: int) -> list[int]:
    """The window, in ranges, at the end of each round trip over a way of 100 ms."""
    sizes = []
    doubt = now = 0
    asks(requests, doubt, now)
    for _ in range(round_trips):
        asked = requests.window.size
        now += max(100 * MILLISECOND, round(asked / RANGE / capacity * SECOND))
        doubt += asked
        asks(requests, doubt, now)
        sizes.append(requests.window.size // RANGE)
    return sizes


def test_in_a_recovery_the_window_opens_to_what_the_way_takes() -> None:
    requests = requests_of("vegas")
    assert recover(requests, 1_000, 3) == [1, 1, 1]
    requests = requests_of("vegas")
    requests.begin_recovery()
    # One range takes 100 ms at the least: 40 ranges a second are four at a time.
    assert recover(requests, 40, 6) == [2, 4, 8, 7, 7, 7]
    requests.end_recovery()
    assert requests.window.size == RANGE


def test_the_literal_window_opens_by_one_range_as_long_as_that_helps() -> None:
    requests = requests_of("literal")
    requests.begin_recovery()
    assert recover(requests, 1_000, 15) == [*range(2, 13), 12, 12, 12, 12]


def test_an_answer_of_this_broker_itself_is_no_measure_of_the_network() -> None:
    requests = requests_of("vegas")
    requests.begin_recovery()
    asks(requests, 0, 0)
    asks(requests, RANGE, 0)
    assert requests.window.size == RANGE


def test_a_round_trip_is_measured_with_requests_that_were_sent_once() -> None:
    requests = requests_of("vegas")
    requests.begin_recovery()
    asks(requests, 0, 0)
    assert asks(requests, 0, SECOND // 2) == 1
    asks(requests, RANGE, SECOND // 2 + MILLISECOND)
    assert requests.window.size == RANGE
    asks(requests, 2 * RANGE, SECOND)
    assert requests.window.size == 2 * RANGE
