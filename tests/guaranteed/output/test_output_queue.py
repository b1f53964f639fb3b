"""What leaves first, how pubends share a link, and what a full queue drops."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.output.lanes import URGENT
from penstock.guaranteed.output.output_queue import QUANTUM_BYTES, OutputQueue
from penstock.guaranteed.output.round_robin import RoundRobin

# Lane, number and size.
Sent = tuple[int, int, int]


def queue_of(queue_bytes_max: int = 10**9, *, room_bytes: int = 10**9) -> OutputQueue[Sent]:
    return OutputQueue(queue_bytes_max, room_bytes=room_bytes, lane_of=lambda sent: sent[0])


def taken(queue: OutputQueue[Sent]) -> list[Sent]:
    found = []
    while (frame := queue.take()) is not None:
        found.append(frame)
    return found


def test_what_is_urgent_goes_past_the_rest_and_waits_for_no_room() -> None:
    queue = queue_of(room_bytes=0)
    queue.put((7, 1, 300), 300, may_drop=True)
    queue.put((URGENT, 2, 40), 40, may_drop=False)
    assert taken(queue) == [(URGENT, 2, 40)]
    queue.room_bytes = 1
    assert taken(queue) == [(7, 1, 300)]
    assert queue.room_bytes == -299
    assert len(queue) == queue.queue_bytes == 0


def test_a_full_queue_drops_the_newest_that_may_be_dropped_and_counts_it() -> None:
    queue = queue_of(1_000)
    assert queue.put((1, 1, 600), 600, may_drop=True)
    assert not queue.put((2, 2, 600), 600, may_drop=True)
    assert queue.put((3, 3, 600), 600, may_drop=False)
    assert queue.dropped == 1
    assert queue.peak_bytes == 1_200
    assert taken(queue) == [(1, 1, 600), (3, 3, 600)]


def test_pubends_share_a_link_by_bytes_however_much_each_has() -> None:
    queue = queue_of(room_bytes=0)
    for number in range(1_000):
        queue.put((1, number, 345), 345, may_drop=True)
        queue.put((2, number, 1_000), 1_000, may_drop=True)
        if number < 100:
            queue.put((3, number, 345), 345, may_drop=True)
    sent: Counter[int] = Counter()
    queue.room_bytes = 90_000
    for lane, _, size_bytes in taken(queue):
        sent[lane] += size_bytes
    assert max(sent.values()) - min(sent.values()) <= 2 * QUANTUM_BYTES


@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 3), st.integers(1, 4_000)),
            st.just(None),
        ),
        max_size=200,
    )
)
def test_each_lane_keeps_its_order_and_nothing_is_lost(
    steps: list[tuple[int, int] | None],
) -> None:
    lanes: RoundRobin[Sent] = RoundRobin(QUANTUM_BYTES)
    put: list[Sent] = []
    got: list[Sent] = []
    for number, step in enumerate(steps):
        if step is None:
            found = lanes.take()
            assert (found is None) == (len(put) == len(got))
            if found is not None:
                assert found[0][2] == found[1]
                got.append(found[0])
        else:
            put.append((step[0], number, step[1]))
            lanes.put(step[0], put[-1], step[1])
        assert len(lanes) == len(put) - len(got)
    while (found := lanes.take()) is not None:
        got.append(found[0])
    assert sorted(got) == sorted(put)
    assert lanes.lanes == 0
    for lane in range(4):
        own = [sent[1] for sent in got if sent[0] == lane]
        assert all(one < other for one, other in pairwise(own))


@given(st.lists(st.integers(1, 20_000), min_size=2, max_size=5))
def test_lanes_that_always_have_something_get_equal_shares(sizes: list[int]) -> None:
    lanes: RoundRobin[int] = RoundRobin(QUANTUM_BYTES)
    for lane, size_bytes in enumerate(sizes):
        for _ in range(3):
            lanes.put(lane, lane, size_bytes)
    sent = [0] * len(sizes)
    for _ in range(300):
        found = lanes.take()
        assert found is not None
        lane, size_bytes = found
        sent[lane] += size_bytes
        lanes.put(lane, lane, size_bytes)
        assert max(sent) - min(sent) <= 2 * (max(sizes) + QUANTUM_BYTES)
