"""What happens next."""

from __future__ import annotations

from collections import deque
from heapq import heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sim.events import EventQueue


def test_ties_happen_in_the_order_of_scheduling() -> None:
    events, seen = EventQueue(), list[str]()
    for at, name in ((5, "c"), (3, "a"), (5, "d"), (3, "b")):
        events.schedule(at, seen.append, name)
    events.run(10)
    assert seen == ["a", "b", "c", "d"]


def test_run_stops_after_what_is_due_and_leaves_the_rest() -> None:
    events, seen = EventQueue(), list[int]()
    for at in (1, 2, 3):
        events.schedule(at, seen.append, at)
    events.run(2)
    assert (seen, events.now) == ([1, 2], 2)
    events.run(9)
    assert (seen, events.now) == ([1, 2, 3], 9)


def test_an_event_may_schedule_another_for_now() -> None:
    events, seen = EventQueue(), list[str]()
    events.schedule(4, lambda: events.schedule(4, seen.append, "later"))
    events.schedule(4, seen.append, "sooner")
    events.run(4)
    assert seen == ["sooner", "later"]


def test_the_past_cannot_be_scheduled() -> None:
    events = EventQueue()
    events.run(10)
    with pytest.raises(AssertionError, match="1 ns in the past"):
        events.schedule(9, print)


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from([None, 0, 1, 2])), max_size=40))
def test_lanes_happen_in_the_same_order_as_events_that_stand_alone(
    plan: list[tuple[int, int | None]],
) -> None:
    """A lane's times never decrease; one that would is moved to its lane's last."""
    lanes_last = {0: 0, 1: 0, 2: 0}
    fixed = list[tuple[int, int | None]]()
    for at, lane in plan:
        if lane is not None:
            at = lanes_last[lane] = max(at, lanes_last[lane])  # noqa: PLW2901
        fixed.append((at, lane))

    events, seen = EventQueue(), list[int]()
    lanes = [deque[tuple[object, ...]]() for _ in range(3)]
    for number, (at, lane) in enumerate(fixed):
        if lane is None:
            events.schedule(at, seen.append, number)
            continue
        entry = (at, events.next_serial(), lanes[lane], seen.append, number)
        if not lanes[lane]:
            heappush(events.heap, entry)
        lanes[lane].append(entry)
    events.run(100)
    assert seen == sorted(range(len(fixed)), key=lambda number: (fixed[number][0], number))


def test_a_lane_its_owner_emptied_is_skipped() -> None:
    events, seen = EventQueue(), list[int]()
    lane = deque[tuple[object, ...]]()
    entry = (3, events.next_serial(), lane, seen.append, 1)
    heappush(events.heap, entry)
    lane.append(entry)
    lane.clear()
    events.schedule(4, seen.append, 2)
    events.run(5)
    assert (seen, events.now) == ([2], 5)
