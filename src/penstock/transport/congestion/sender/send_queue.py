"""Messages that wait until all the flows that they are in have tokens.

Messages in the same flows wait in one line, in their order. Of two lines that share a
flow the one whose first message is older goes first; others do not hold each other up.
With `strict` there is one line for all [C13].

1. A line is *in front* if none that shares a flow with it has an older first message.
   Those in front share no flows: what one takes does not make another wait.
2. For each of them it is known when it may leave, and the earliest is found at once.
3. Of all that may leave now the oldest message does; then only the lines that share a
   flow with it are looked at again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from penstock.content.message import Message
from penstock.kernel.instant import Instant
from penstock.transport.congestion.sender.flow import ControlledFlow

# The numbers of the flows.
LaneKey: TypeAlias = tuple[int, ...]
# Lines that are not in front any more stay in the heaps for a while.
_STALE_MAX: Final = 64


class QueuedMessage(NamedTuple):
    """One message."""

    age: int
    message: Message
    submitted_ns: Instant


class _Lane:
    __slots__ = ("flows", "key", "messages", "ready_ns")

    def __init__(self, key: LaneKey, flows: Sequence[ControlledFlow]) -> None:
        self.key: Final = key
        self.flows: Final = flows
        self.messages: Final[deque[QueuedMessage]] = deque()
        # When its first message may leave; None if it is not in front.
        self.ready_ns: Instant | None = None


class SendQueue:
    """Of one publisher."""

    def __init__(self, *, keep_order: bool) -> None:
        self._keep_order: Final = keep_order
        self._lanes: Final[dict[LaneKey, _Lane]] = {}
        # The first messages of the lines of each flow: a heap, whose end may be outdated.
        self._heads_by_flow: Final[dict[int, list[tuple[int, LaneKey]]]] = {}
        # The line of each message by its age, the oldest first.
        self._lanes_by_age: Final[OrderedDict[int, _Lane]] = OrderedDict()
        # Newer than all of these; in no lane until the queue is matched with its flows again.
        self._unclassified: Final[deque[QueuedMessage]] = deque()
        # Of lines in front: when they may leave, and those that may by age. What is said
        # there of a line may be outdated: `_is_valid`.
        self._by_time: list[tuple[Instant, int, LaneKey]] = []
        self._by_age: list[tuple[int, LaneKey]] = []
        self._last_age = 0
        self._now: Instant = 0

    def __len__(self) -> int:
        return len(self._lanes_by_age) + len(self._unclassified)

    @property
    def lanes(self) -> int:
        """Lines of messages that are in the same flows."""
        return len(self._lanes)

    @property
    def unclassified(self) -> int:
        """Messages that are in none of them yet."""
        return len(self._unclassified)

    def would_leave_now(self, flows: Sequence[ControlledFlow], now: Instant) -> bool:
        """Whether a message of these flows would leave at once, and before all that wait."""
        for flow in flows:
            if not flow.is_open(now):
                return False
        if not self._lanes_by_age:
            return True
        if self._keep_order or any(self._oldest_in_flow(flow.id) is not None for flow in flows):
            return False
        at = self.next_send_at(now)
        return at is None or at > now

    def put(self, message: Message, flows: Sequence[ControlledFlow], now: Instant) -> None:
        """The newest."""
        self._last_age += 1
        self._append(QueuedMessage(self._last_age, message, now), flows, now)

    def put_unclassified(self, message: Message, now: Instant) -> None:
        """Queues the newest message while the lanes still follow the flows before a change.

        In the lane of its present flows it could overtake older messages of the same flows.
        """
        self._last_age += 1
        self._unclassified.append(QueuedMessage(self._last_age, message, now))

    def drop_oldest(self, now: Instant) -> QueuedMessage:
        """The oldest goes, unsent."""
        if not self._lanes_by_age:
            return self._unclassified.popleft()
        lane = self._lanes_by_age[next(iter(self._lanes_by_age))]
        queued = self._pop(lane)
        self._on_head_changed(lane, now)
        return queued

    def queued(self) -> list[QueuedMessage]:
        """All that wait, the oldest first."""
        classified = sorted(queued for lane in self._lanes.values() for queued in lane.messages)
        return [*classified, *self._unclassified]

    def queued_by_flow(self) -> dict[int, int]:
        """How many messages wait in each flow, by its number; one may be in several."""
        counts: dict[int, int] = {}
        for lane in self._lanes.values():
            for id_ in lane.key:
                counts[id_] = counts.get(id_, 0) + len(lane.messages)
        return counts

    def affects_queued(self, flows: Sequence[ControlledFlow]) -> bool:
        """Whether any message that waits is in one of these, or was."""
        return any(
            self._oldest_in_flow(flow.id) is not None
            or flow.filter is None
            or any(
                flow.filter.matches(queued.message)
                for lane in self._lanes.values()
                for queued in lane.messages
            )
            for flow in flows
        )

    def reclassify(
        self, match: Callable[[Message], Sequence[ControlledFlow]], now: Instant
    ) -> None:
        """Flows came or went."""
        queued_messages = self.queued()
        for container in (
            self._lanes,
            self._heads_by_flow,
            self._lanes_by_age,
            self._by_time,
            self._by_age,
        ):
            container.clear()
        self._unclassified.clear()
        for queued in queued_messages:
            self._append(queued, match(queued.message), now)

    def classify_new(
        self, match: Callable[[Message], Sequence[ControlledFlow]], now: Instant
    ) -> None:
        """Flows came or went, but none that matches a message in a lane."""
        while self._unclassified:
            queued = self._unclassified.popleft()
            self._append(queued, match(queued.message), now)

    def on_flow_changed(self, flow_id: int, now: Instant) -> None:
        """A flow has become quicker or slower."""
        if self._keep_order:
            if self._lanes_by_age:
                self._schedule(self._lanes_by_age[next(iter(self._lanes_by_age))], now)
            return
        first = self._oldest_in_flow(flow_id)
        if first is not None:
            self._schedule(self._lanes[first[1]], now)

    def on_clock_set_back(self, now: Instant) -> None:
        """The clock was set back."""
        self._by_time.clear()
        self._by_age.clear()
        for lane in self._lanes.values():
            lane.ready_ns = None
            self._schedule(lane, now)

    def ready(self, now: Instant) -> Iterator[tuple[QueuedMessage, Sequence[ControlledFlow]]]:
        """Those that may leave, each out of its line, with the tokens that they take."""
        if now < self._now:
            self.on_clock_set_back(now)
        self._now = now
        while (lane := self._oldest_ready(now)) is not None:
            queued = self._pop(lane)
            for flow in lane.flows:
                flow.bucket.take(now)
            try:
                yield queued, lane.flows
            finally:
                # Only now what left is counted in its flows' windows.
                self._on_head_changed(lane, now)

    def next_send_at(self, now: Instant) -> Instant | None:
        """When the next one may leave, if nothing changes."""
        if now < self._now:
            self.on_clock_set_back(now)
        self._now = now
        by_time = self._by_time
        while self._by_age and not self._is_valid(*self._by_age[0]):
            heappop(self._by_age)
        if self._by_age:
            return now
        while by_time and not self._is_valid(by_time[0][1], by_time[0][2], by_time[0][0]):
            heappop(by_time)
        return max(now, by_time[0][0]) if by_time else None

    # Which lines are in front.

    def _oldest_ready(self, now: Instant) -> _Lane | None:
        by_time, by_age = self._by_time, self._by_age
        while by_time and by_time[0][0] <= now:
            at, age, key = heappop(by_time)
            if self._is_valid(age, key, at):
                heappush(by_age, (age, key))
        while by_age:
            age, key = heappop(by_age)
            if not self._is_valid(age, key):
                continue
            lane = self._lanes[key]
            if all(flow.is_open(now) for flow in lane.flows):
                return lane
            # Its window has filled, or opened and filled again.
            lane.ready_ns = None
            self._schedule(lane, now)
        return None

    def _is_valid(self, age: int, key: LaneKey, at: Instant | None = None) -> bool:
        lane = self._lanes.get(key)
        return (
            lane is not None
            and lane.ready_ns is not None
            and lane.messages[0].age == age
            and (at is None or lane.ready_ns == at)
        )

    def _on_head_changed(self, lane: _Lane, now: Instant) -> None:
        """Its first message is another, or it is gone: those behind it may be in front."""
        lane.ready_ns = None
        if self._keep_order:
            if self._lanes_by_age:
                self._schedule(self._lanes_by_age[next(iter(self._lanes_by_age))], now)
            return
        for id_ in lane.key:
            first = self._oldest_in_flow(id_)
            if first is not None:
                self._schedule(self._lanes[first[1]], now)
        if not lane.key and lane.messages:
            self._schedule(lane, now)

    def _schedule(self, lane: _Lane, now: Instant) -> None:
        """Finds out when it leaves, if it is in front."""
        age = lane.messages[0].age
        if not self._is_head(lane, age):
            lane.ready_ns = None
            return
        at = max([flow.ready_ns(now) for flow in lane.flows], default=now)
        if at != lane.ready_ns:
            lane.ready_ns = at
            heappush(self._by_time, (at, age, lane.key))
            if len(self._by_time) > 2 * len(self._lanes) + _STALE_MAX:
                self._by_time = sorted(
                    {
                        entry
                        for entry in self._by_time
                        if self._is_valid(entry[1], entry[2], entry[0])
                    }
                )

    def _is_head(self, lane: _Lane, age: int) -> bool:
        if self._keep_order:
            return next(iter(self._lanes_by_age)) == age
        return all(self._oldest_in_flow(id_) == (age, lane.key) for id_ in lane.key)

    def _oldest_in_flow(self, flow_id: int) -> tuple[int, LaneKey] | None:
        """The oldest message of a flow, and its line."""
        heap = self._heads_by_flow.get(flow_id)
        if heap is None:
            return None
        while heap:
            age, key = heap[0]
            lane = self._lanes.get(key)
            if lane is not None and lane.messages[0].age == age:
                return heap[0]
            heappop(heap)
        del self._heads_by_flow[flow_id]
        return None

    # Lines.

    def _append(self, queued: QueuedMessage, flows: Sequence[ControlledFlow], now: Instant) -> None:
        key = tuple(sorted([flow.id for flow in flows]))
        lane = self._lanes.get(key)
        if lane is not None:
            lane.messages.append(queued)
            self._lanes_by_age[queued.age] = lane
            return
        lane = self._lanes[key] = _Lane(key, flows)
        lane.messages.append(queued)
        self._lanes_by_age[queued.age] = lane
        self._push_head(lane)
        self._schedule(lane, now)

    def _pop(self, lane: _Lane) -> QueuedMessage:
        queued = lane.messages.popleft()
        del self._lanes_by_age[queued.age]
        if not lane.messages:
            del self._lanes[lane.key]
        else:
            self._push_head(lane)
        return queued

    def _push_head(self, lane: _Lane) -> None:
        """Another of its messages is the first."""
        head = lane.messages[0].age, lane.key
        for id_ in lane.key:
            heappush(self._heads_by_flow.setdefault(id_, []), head)
