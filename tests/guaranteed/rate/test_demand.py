"""What a publisher wants, whatever it may have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.rate.demand import PublisherDemand
from penstock.kernel.instant import MILLISECOND, SECOND

SLOT = 250 * MILLISECOND


def test_it_is_the_highest_rate_of_ten_seconds_in_the_last_minute() -> None:
    demand = PublisherDemand(0)
    for at in range(20_000):
        demand.arrived(1, now=at * MILLISECOND)
    assert demand.rate(now=20 * SECOND) == 1_000
    for at in range(20, 78):
        demand.arrived(5, now=at * SECOND)
    assert demand.rate(now=78 * SECOND) == 1_000
    for at in range(78, 100):
        demand.arrived(5, now=at * SECOND)
    assert demand.rate(now=100 * SECOND) == 5


def test_a_burst_counts_for_what_it_is_in_ten_seconds() -> None:
    """What a program has gathered before it connects is not what it goes on to publish."""
    demand = PublisherDemand(0)
    demand.arrived(500, now=0)
    for at in range(100, 10_000, 10):
        demand.arrived(1, now=at * MILLISECOND)
    assert demand.rate(now=10 * SECOND) == (500 + 990) / 10


def test_a_new_publisher_is_measured_from_its_first_second() -> None:
    demand = PublisherDemand(0)
    for at in range(0, 2_000, 10):
        demand.arrived(1, now=at * MILLISECOND)
    assert demand.rate(now=2 * SECOND) == 100


def test_while_it_waits_its_time_stands_still() -> None:
    demand = PublisherDemand(0)
    demand.arrived(70, now=0)
    demand.wait(True, now=SECOND)
    demand.arrived(90, now=900 * SECOND)
    waiting = demand.rate(now=1_000 * SECOND)
    demand.wait(False, now=1_000 * SECOND)
    assert waiting == demand.rate(now=1_000 * SECOND) > 50
    assert demand.rate(now=1_050 * SECOND) == 7
    assert demand.rate(now=1_075 * SECOND) == 0


@given(st.lists(st.tuples(st.integers(0, 15 * SECOND), st.integers(1, 100)), max_size=60))
def test_it_is_what_a_naive_count_finds(steps: list[tuple[int, int]]) -> None:
    demand, now = PublisherDemand(0), 0
    slots: dict[int, int] = {}
    for wait_ns, messages in steps:
        now += wait_ns
        demand.arrived(messages, now=now)
        slot = now // SLOT
        slots[slot] = slots.get(slot, 0) + messages
        most = max(
            sum(slots.get(last - back, 0) for back in range(40))
            for last in range(max(39, slot - 240), max(39, slot) + 1)
        )
        new = sum(slots.values()) * SECOND / max(SECOND, now)
        expected = most / 10 if slot >= 39 else new
        # A stretch is remembered until the end of the slot that it ends with is a minute ago.
        assert demand.rate(now=now) in (expected, _without_oldest(slots, slot) / 10)


def _without_oldest(slots: dict[int, int], slot: int) -> int:
    return max(
        sum(slots.get(last - back, 0) for back in range(40))
        for last in range(max(39, slot - 239), max(39, slot) + 1)
    )
