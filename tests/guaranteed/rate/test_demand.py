"""What a publisher wants, whatever it may have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.rate.demand import PublisherDemand
from penstock.kernel.instant import MILLISECOND, SECOND


def test_it_is_the_highest_rate_of_a_second_in_the_last_minute() -> None:
    demand = PublisherDemand(0)
    for at in range(10_000):
        demand.arrived(1, now=at * MILLISECOND)
    assert demand.rate(now=10 * SECOND) == 1_000
    for at in range(10, 69):
        demand.arrived(5, now=at * SECOND)
    assert demand.rate(now=69 * SECOND) == 1_000
    for at in range(69, 75):
        demand.arrived(5, now=at * SECOND)
    assert demand.rate(now=75 * SECOND) == 5


def test_while_it_waits_its_time_stands_still() -> None:
    demand = PublisherDemand(0)
    demand.arrived(70, now=0)
    demand.wait(True, now=SECOND)
    demand.arrived(90, now=900 * SECOND)
    assert demand.rate(now=1_000 * SECOND) == 70
    demand.wait(False, now=1_000 * SECOND)
    assert demand.rate(now=1_050 * SECOND) == 70
    assert demand.rate(now=1_062 * SECOND) == 0


@given(st.lists(st.tuples(st.integers(0, 3 * SECOND), st.integers(1, 100)), max_size=60))
def test_it_is_what_a_naive_count_finds(steps: list[tuple[int, int]]) -> None:
    demand, now = PublisherDemand(0), 0
    slots: dict[int, int] = {}
    highest = 0
    for wait_ns, messages in steps:
        now += wait_ns
        demand.arrived(messages, now=now)
        slot = now // (250 * MILLISECOND)
        slots[slot] = slots.get(slot, 0) + messages
        highest = max(highest, sum(slots.get(slot - back, 0) for back in range(4)))
        if now < 60 * SECOND:
            assert demand.rate(now=now) == highest
