"""The outbox against a plain twin, which looks at all its lines each time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.tfrc.rate_meter import RateMeter
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.send_queue import SendQueue

RATES = (5.0, 20.0, 50.0, 200.0)


def new_flows() -> list[ControlledFlow]:
    return [ControlledFlow(number, None, 0, 0, rate, 0) for number, rate in enumerate(RATES)]


def in_flows(flows: list[ControlledFlow], mask: int, message: Message) -> list[ControlledFlow]:
    wanted = int(str(message.attributes["flows"]))
    return [flow for flow in flows if wanted & mask >> flow.id & 1]


class Plain:
    """As the outbox is described: nothing is remembered but who waits."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.lines: dict[tuple[int, ...], deque[tuple[int, Message]]] = {}
        self.flows: dict[tuple[int, ...], list[ControlledFlow]] = {}
        self.age = 0

    def put(self, message: Message, flows: list[ControlledFlow]) -> None:
        self.age += 1
        key = tuple(flow.id for flow in flows)
        self.flows[key] = flows
        self.lines.setdefault(key, deque()).append((self.age, message))

    def in_front(self) -> Iterator[tuple[int, ...]]:
        behind: set[int] = set()
        for key in sorted(self.lines, key=lambda key: self.lines[key][0][0]):
            if behind.isdisjoint(key):
                yield key
            behind |= {*key}
            if self.strict:
                return

    def pop(self, key: tuple[int, ...]) -> Message:
        _, message = self.lines[key].popleft()
        if not self.lines[key]:
            del self.lines[key]
        return message

    def drop_oldest(self) -> Message:
        return self.pop(min(self.lines, key=lambda key: self.lines[key][0][0]))

    def ready(self, now: Instant) -> Iterator[Message]:
        while True:
            for key in self.in_front():
                if all(flow.bucket.ready_at(now) <= now for flow in self.flows[key]):
                    for flow in self.flows[key]:
                        flow.bucket.take(now)
                    yield self.pop(key)
                    break
            else:
                return

    def next_at(self, now: Instant) -> Instant | None:
        times = [
            max([now, *(flow.bucket.ready_at(now) for flow in self.flows[key])])
            for key in self.in_front()
        ]
        return min(times, default=None)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 15)),
        st.tuples(st.just("wait"), st.integers(0, 300)),
        st.tuples(st.just("leap"), st.just(0)),
        st.tuples(st.just("drop"), st.just(0)),
        st.tuples(st.just("rate"), st.integers(0, 3)),
        st.tuples(st.just("rematch"), st.integers(0, 15)),
    ),
    max_size=80,
)


@given(steps=STEPS, strict=st.booleans())
def test_it_does_what_its_plain_twin_does(steps: list[tuple[str, int]], strict: bool) -> None:
    ours, theirs = new_flows(), new_flows()
    outbox, plain = SendQueue(keep_order=strict), Plain(strict=strict)
    now, mask = 0, 15
    for number, (what, how) in enumerate(steps):
        message = Message({"number": number, "flows": how})
        if what == "put":
            mine = [flow for flow in ours if how & mask >> flow.id & 1]
            is_free = outbox.would_leave_now(mine, now)
            outbox.put(message, mine, now)
            plain.put(message, [flow for flow in theirs if how & mask >> flow.id & 1])
            left = [each.message for each, _ in outbox.ready(now)]
            assert left == [*plain.ready(now)]
            assert is_free == (left == [message])
        elif what == "wait":
            now += how * MILLISECOND
        elif what == "leap":
            now = max(now, plain.next_at(now) or now)
        elif what == "drop" and len(outbox):
            assert outbox.drop_oldest(now).message == plain.drop_oldest()
        elif what == "rate":
            for flows in (ours, theirs):
                flows[how].set_quota(RATES[number % 4], now)
            outbox.on_clock_set_back(now)
        elif what == "rematch":
            mask = how
            waiting = sorted(each for line in plain.lines.values() for each in line)
            plain.lines.clear()
            outbox.reclassify(partial(in_flows, ours, mask), now)
            for _, each in waiting:
                wanted = int(str(each.attributes["flows"]))
                plain.put(each, [flow for flow in theirs if wanted & mask >> flow.id & 1])
        assert [each.message for each, _ in outbox.ready(now)] == [*plain.ready(now)]
        assert outbox.next_send_at(now) == plain.next_at(now)
        assert len(outbox) == sum(map(len, plain.lines.values()))


def test_a_clock_that_is_set_back_does_not_keep_messages_waiting() -> None:
    flow = ControlledFlow(1, None, 0, 0, 10.0, 100 * SECOND)
    outbox = SendQueue(keep_order=False)
    for number in range(3):
        outbox.put(Message({"number": number}), [flow], 100 * SECOND)
    assert len([*outbox.ready(100 * SECOND)]) == 1
    assert outbox.next_send_at(SECOND) == SECOND + 100 * MILLISECOND
    assert len([*outbox.ready(2 * SECOND)]) == 2


def test_outdated_entries_do_not_gather() -> None:
    flow = ControlledFlow(1, None, 0, 0, 10.0, 0)
    outbox = SendQueue(keep_order=False)
    outbox.put(Message({"number": 1}), [flow], 0)
    outbox.put(Message({"number": 2}), [flow], 0)
    for number in range(10_000):
        outbox.put(Message({"number": number}), [flow], number)
        outbox.drop_oldest(number)
        outbox.next_send_at(number)
    assert len(outbox._by_time) < 100
    assert all(len(heap) < 100 for heap in outbox._heads_by_flow.values())


def test_a_meter_that_nobody_reads_does_not_grow() -> None:
    meter = RateMeter()
    for second in range(1_000):
        for part in range(10):
            meter.count(second * SECOND + part * 100 * MILLISECOND)
    assert len(meter._slots) <= 64
    assert meter.rate(1_000 * SECOND - 1) == pytest.approx(10, rel=0.5)


def test_the_most_that_wait_are_those_that_wait() -> None:
    flows = new_flows()
    outbox = SendQueue(keep_order=False)
    for number in range(50):
        outbox.put(Message({"number": number}), [flows[number % 4]], 0)
    left = Counter(flows[0].id for _, flows in outbox.ready(0))
    assert left == {0: 1, 1: 1, 2: 1, 3: 1}
    assert len(outbox) == 46
