"""The send queue: messages that wait until all flows that they match have tokens.

Messages of the same flows wait in one lane, in order. Of two lanes that share a flow, the one
with the older first message goes first; lanes without a common flow do not block each other.
With `keep_order` all messages leave in order [C13].

1. A lane is *at the head* if no lane that shares a flow with it has an older first message.
   Lanes at the head share no flows, so tokens that one takes do not delay another.
2. The send time of each of them is known, and a heap yields the earliest.
3. Of all lanes that are ready, the one with the oldest message sends; then only lanes that
   share a flow with it are scheduled again.

Does not know how messages are matched with flows, nor how large the queue may become.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from penstock.content.message import Message
from penstock.kernel.instant import Instant
from penstock.transport.congestion.sender.flow import ControlledFlow

# The sorted ids of the flows.
LaneKey: TypeAlias = tuple[int, ...]
# Outdated entries of the heap by time that are tolerated before it is rebuilt.
_STALE_MAX: Final = 64


class QueuedMessage(NamedTuple):
    """A message in the queue; a lower `age` is older."""

    age: int
    message: Message
    submitted_ns: Instant


class _Lane:
    __slots__ = ("flows", "key", "messages", "ready_ns")

    def __init__(self, key: LaneKey, flows: Sequence[ControlledFlow]) -> None:
        self.key: Final = key
        self.flows: Final = flows
        self.messages: Final[deque[QueuedMessage]] = deque()
        # When the first message may leave; None if the lane is not at the head.
        self.ready_ns: Instant | None = None


class SendQueue:
    """The queued messages of one publisher."""

    def __init__(self, *, keep_order: bool) -> None:
        self._keep_order: Final = keep_order
        self._lanes: Final[dict[LaneKey, _Lane]] = {}
        # By flow, a heap of the first messages of its lanes; entries may be outdated.
        self._heads_by_flow: Final[dict[int, list[tuple[int, LaneKey]]]] = {}
        # The lane of each message by age, oldest first.
        self._lanes_by_age: Final[OrderedDict[int, _Lane]] = OrderedDict()
        # Newer than all of these; in no lane until the queue is matched with its flows again.
        self._unclassified: Final[deque[QueuedMessage]] = deque()
        # Heaps of lanes at the head: those that wait by send time, those that are ready by age.
        # Entries may be outdated: see `_is_valid`.
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
        """Whether a new message of these flows would leave now, before all queued ones."""
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
        """Queue a message as the newest."""
        self._last_age += 1
        self._append(QueuedMessage(self._last_age, message, now), flows, now)

    def put_unclassified(self, message: Message, now: Instant) -> None:
        """Queues the newest message while the lanes still follow the flows before a change.

        In the lane of its present flows it could overtake older messages of the same flows.
        """
        self._last_age += 1
        self._unclassified.append(QueuedMessage(self._last_age, message, now))

    def drop_oldest(self, now: Instant) -> QueuedMessage:
        """Remove and return the oldest message."""
        if not self._lanes_by_age:
            return self._unclassified.popleft()
        lane = self._lanes_by_age[next(iter(self._lanes_by_age))]
        queued = self._pop(lane)
        self._on_head_changed(lane, now)
        return queued

    def queued(self) -> list[QueuedMessage]:
        """All queued messages, oldest first."""
        classified = sorted(queued for lane in self._lanes.values() for queued in lane.messages)
        return [*classified, *self._unclassified]

    def queued_by_flow(self) -> dict[int, int]:
        """Queued messages by flow id; a message may count in several flows."""
        counts: dict[int, int] = {}
        for lane in self._lanes.values():
            for id_ in lane.key:
                counts[id_] = counts.get(id_, 0) + len(lane.messages)
        return counts

    def affects_queued(self, flows: Sequence[ControlledFlow]) -> bool:
        """Whether any message in a lane matches one of these flows, or was queued for it."""
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
        """Match all messages again after flows were added or removed."""
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
        """Put new messages into lanes; the flows of messages in lanes have not changed."""
        while self._unclassified:
            queued = self._unclassified.popleft()
            self._append(queued, match(queued.message), now)

    def on_flow_changed(self, flow_id: int, now: Instant) -> None:
        """Reschedule the first message of a flow whose rate or window has changed."""
        if self._keep_order:
            if self._lanes_by_age:
                self._schedule(self._lanes_by_age[next(iter(self._lanes_by_age))], now)
            return
        first = self._oldest_in_flow(flow_id)
        if first is not None:
            self._schedule(self._lanes[first[1]], now)

    def on_clock_set_back(self, now: Instant) -> None:
        """Reschedule all lanes after the clock was set back."""
        self._by_time.clear()
        self._by_age.clear()
        for lane in self._lanes.values():
            lane.ready_ns = None
            self._schedule(lane, now)

    def ready(self, now: Instant) -> Iterator[tuple[QueuedMessage, Sequence[ControlledFlow]]]:
        """Yield the messages that may leave, each removed and its tokens taken."""
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
                # Reschedule only now that the windows of its flows count the message.
                self._on_head_changed(lane, now)

    def next_send_at(self, now: Instant) -> Instant | None:
        """When the next message may leave, if nothing changes."""
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

    # Which lanes are at the head.

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
            # The window of a flow has filled since the lane was scheduled.
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
        """Reschedule the lanes that may be at the head after this lane lost its first message."""
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
        """Compute when the lane may send, if it is at the head."""
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
        """The age and the lane of the oldest message of a flow."""
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

    # Lanes.

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
        """Enter the first message of the lane into the heaps of its flows."""
        head = lane.messages[0].age, lane.key
        for id_ in lane.key:
            heappush(self._heads_by_flow.setdefault(id_, []), head)
