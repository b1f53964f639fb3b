"""Trying again, against the naive twin: a list of entries that is searched each time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.retry import Backoff, RetryQueue, SharedLimit

BACKOFF = Backoff(first_ns=4, max_ns=60, doublings_max=3)
ATTEMPTS_MAX, ENTRIES_MAX, SHARED_MAX = 3, 5, 8
Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "discard", "due", "due", "postpone", "clear"]),
        st.integers(0, 1),
        st.integers(0, 12),
        st.integers(0, 9),
    ),
    max_size=60,
)


@dataclass
class Entry:
    key: int
    at: int
    set_as: int
    attempts: int = 0


class Naive:
    """Everything in one list, in the order in which it was added."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.given_up = self.sets = 0

    def has(self, key: int) -> bool:
        return any(entry.key == key for entry in self.entries)

    def arm(self, entry: Entry, at: int) -> None:
        self.sets += 1
        entry.at, entry.set_as = at, self.sets

    def add(self, keys: range, at: int, left: int) -> None:
        wanted = list(keys)
        while len(wanted) > ENTRIES_MAX:
            wanted.pop(0)
            self.given_up += 1
        for key in wanted:
            if self.has(key):
                continue
            if not left:
                self.given_up += 1
                continue
            left -= 1
            self.entries.append(Entry(key, 0, 0))
            self.arm(self.entries[-1], at)
        while len(self.entries) > ENTRIES_MAX:
            self.entries.pop(0)
            self.given_up += 1

    def due(self, now: int, least_ns: int) -> list[int]:
        found = []
        while due := [entry for entry in self.entries if entry.at <= now]:
            entry = min(due, key=lambda each: (each.at, each.set_as))
            if entry.attempts == ATTEMPTS_MAX:
                self.entries.remove(entry)
                self.given_up += 1
                continue
            wait_ns = max(4, least_ns)
            for _ in range(min(entry.attempts, 3)):
                wait_ns *= 2
            entry.attempts += 1
            self.arm(entry, now + min(60, wait_ns))
            found.append(entry.key)
        return found


@given(STEPS)
def test_two_queues_that_share_a_limit_agree_with_lists(steps: list[Step]) -> None:
    limit = SharedLimit(SHARED_MAX)
    queues: list[RetryQueue[int]] = [
        RetryQueue(BACKOFF, attempts_max=ATTEMPTS_MAX, max_entries=ENTRIES_MAX, limit=limit)
        for _ in range(2)
    ]
    twins = [Naive(), Naive()]
    now = 0
    for verb, which, key, amount in steps:
        now += amount
        queue, naive = queues[which], twins[which]
        if verb == "add":
            left = SHARED_MAX - sum(len(each.entries) for each in twins)
            queue.add(range(key, key + amount), now + key % 4)
            naive.add(range(key, key + amount), now + key % 4, left)
        elif verb == "discard":
            queue.discard(key)
            naive.entries = [entry for entry in naive.entries if entry.key != key]
        elif verb == "clear":
            queue.clear()
            naive.entries.clear()
        else:
            due = list(queue.due(now, least_ns=key))
            assert due == naive.due(now, key)
            if verb == "postpone":
                queue.postpone(due, now + 5)
                for entry in sorted(naive.entries, key=lambda each: each.set_as):
                    if entry.key in due:
                        entry.attempts -= 1
                        naive.arm(entry, now + 5)
        assert len(queue) == len(naive.entries)
        assert queue.given_up == naive.given_up
        assert all((number in queue) == naive.has(number) for number in range(25))
        assert all(queue.attempts(entry.key) == entry.attempts for entry in naive.entries)
        assert queue.next_wakeup() == min((entry.at for entry in naive.entries), default=None)
        assert limit.left == SHARED_MAX - len(queues[0]) - len(queues[1]) >= 0


@given(
    st.integers(1, SECOND),
    st.integers(0, 60 * SECOND),
    st.integers(0, 10),
    st.integers(0, 40),
    st.integers(0, 10 * SECOND),
)
def test_each_wait_is_twice_the_one_before(
    first_ns: int, more_ns: int, doublings: int, attempts: int, least_ns: int
) -> None:
    backoff = Backoff(first_ns=first_ns, max_ns=first_ns + more_ns, doublings_max=doublings)
    wait_ns = max(first_ns, least_ns)
    for attempt in range(attempts):
        wait_ns *= 2 if attempt < doublings else 1
    assert backoff.wait_ns(attempts, least_ns=least_ns) == min(wait_ns, first_ns + more_ns)


def test_a_wait_without_a_bound_stops_doubling_all_the_same() -> None:
    backoff = Backoff(first_ns=50 * MILLISECOND, doublings_max=6)
    waits_ms = [backoff.wait_ns(attempts) // MILLISECOND for attempts in (0, 1, 5, 6, 7, 99)]
    assert waits_ms == [50, 100, 1_600, 3_200, 3_200, 3_200]


def make_queue(limit: int = 100, most: int = 4) -> RetryQueue[int]:
    return RetryQueue(BACKOFF, attempts_max=2, max_entries=most, limit=SharedLimit(limit))


def test_what_is_tried_in_vain_is_given_up() -> None:
    queue = make_queue()
    queue.add([7], 10)
    assert list(queue.due(9)) == []
    tried = []
    while (at := queue.next_wakeup()) is not None:
        tried += [(at, key) for key in queue.due(at)]
    assert tried == [(10, 7), (14, 7)]
    assert (len(queue), queue.given_up) == (0, 1)


def test_what_could_not_be_tried_was_no_attempt() -> None:
    queue = make_queue()
    queue.add([7], 0)
    for now in range(20):
        assert list(queue.due(now)) == [7]
        queue.postpone([7], now + 1)
    assert (queue.attempts(7), queue.given_up) == (0, 0)


def test_what_waits_already_keeps_its_time() -> None:
    queue = make_queue()
    queue.add([7], 10)
    queue.add([7], 5)
    assert queue.next_wakeup() == 10


def test_of_too_many_the_last_stay() -> None:
    queue = make_queue(most=4)
    queue.add(range(3), 0)
    queue.add(range(10, 16), 0, skipped=1_000)
    assert sorted(queue.due(0)) == [12, 13, 14, 15]
    assert queue.given_up == 1_000 + 2 + 3


def test_where_the_limit_is_reached_nothing_is_added() -> None:
    queue = make_queue(limit=2)
    queue.add(range(3), 0)
    assert (len(queue), queue.given_up) == (2, 1)
    queue.discard(0)
    queue.add([9], 0)
    assert (9 in queue, queue.given_up) == (True, 1)


def test_misuse_is_our_own_bug() -> None:
    for first_ns, max_ns, doublings in ((0, None, 1), (1, None, -1), (5, 4, 1)):
        with pytest.raises(AssertionError):
            Backoff(first_ns=first_ns, max_ns=max_ns, doublings_max=doublings)
    with pytest.raises(AssertionError):
        BACKOFF.wait_ns(-1)
    for attempts_max, most in ((0, 1), (1, 0)):
        with pytest.raises(AssertionError):
            RetryQueue(BACKOFF, attempts_max=attempts_max, max_entries=most, limit=SharedLimit(1))
    with pytest.raises(AssertionError):
        SharedLimit(-1)
    queue = make_queue()
    queue.add([7], 0)
    with pytest.raises(AssertionError):
        queue.postpone([7], 1)
    with pytest.raises(AssertionError):
        queue.add([8], 0, skipped=-1)
    with pytest.raises(KeyError):
        queue.attempts(9)
