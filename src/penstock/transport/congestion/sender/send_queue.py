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
Key: TypeAlias = tuple[int, ...]
# Lines that are not in front any more stay in the heaps for a while.
_STALE_MAX: Final = 64


class Waiting(NamedTuple):
    """One message."""

    age: int
    message: Message
    since_ns: Instant


class _Line:
    __slots__ = ("flows", "key", "leaves_ns", "waiting")

    def __init__(self, key: Key, flows: Sequence[ControlledFlow]) -> None:
        self.key: Final = key
        self.flows: Final = flows
        self.waiting: Final[deque[Waiting]] = deque()
        # When its first message may leave; None if it is not in front.
        self.leaves_ns: Instant | None = None


class Outbox:
    """Of one publisher."""

    def __init__(self, *, strict: bool) -> None:
        self._strict: Final = strict
        self._lines: Final[dict[Key, _Line]] = {}
        # The first messages of the lines of each flow: a heap, whose end may be outdated.
        self._of_flow: Final[dict[int, list[tuple[int, Key]]]] = {}
        # The line of each message by its age, the oldest first.
        self._order: Final[OrderedDict[int, _Line]] = OrderedDict()
        # Of lines in front: when they may leave, and those that may by age. What is said
        # there of a line may be outdated: `_is_valid`.
        self._soon: list[tuple[Instant, int, Key]] = []
        self._due: list[tuple[int, Key]] = []
        self._age = 0
        self._now: Instant = 0

    def __len__(self) -> int:
        return len(self._order)

    def is_free(self, flows: Sequence[ControlledFlow], now: Instant) -> bool:
        """Whether a message of these flows would leave at once, and before all that wait."""
        for flow in flows:
            if not flow.is_open(now):
                return False
        if not self._order:
            return True
        if self._strict or any(self._first(flow.id) is not None for flow in flows):
            return False
        at = self.next_at(now)
        return at is None or at > now

    def put(self, message: Message, flows: Sequence[ControlledFlow], now: Instant) -> None:
        """The newest."""
        self._age += 1
        self._append(Waiting(self._age, message, now), flows, now)

    def drop_oldest(self, now: Instant) -> Waiting:
        """The oldest goes, unsent."""
        line = self._order[next(iter(self._order))]
        each = self._pop(line)
        self._look_again(line, now)
        return each

    def waiting(self) -> list[Waiting]:
        """All that wait, the oldest first."""
        return sorted(each for line in self._lines.values() for each in line.waiting)

    def waiting_by_flow(self) -> dict[int, int]:
        """How many messages wait in each flow, by its number; one may be in several."""
        found: dict[int, int] = {}
        for line in self._lines.values():
            for id_ in line.key:
                found[id_] = found.get(id_, 0) + len(line.waiting)
        return found

    def is_concerned(self, flows: Sequence[ControlledFlow]) -> bool:
        """Whether any message that waits is in one of these, or was."""
        return any(
            self._first(flow.id) is not None
            or flow.filter is None
            or any(
                flow.filter.matches(each.message)
                for line in self._lines.values()
                for each in line.waiting
            )
            for flow in flows
        )

    def rematch(self, match: Callable[[Message], Sequence[ControlledFlow]], now: Instant) -> None:
        """Flows came or went."""
        waiting = self.waiting()
        for kept in (self._lines, self._of_flow, self._order, self._soon, self._due):
            kept.clear()
        for each in waiting:
            self._append(each, match(each.message), now)

    def look_at(self, flow_id: int, now: Instant) -> None:
        """A flow has become quicker or slower."""
        if self._strict:
            if self._order:
                self._look(self._order[next(iter(self._order))], now)
            return
        first = self._first(flow_id)
        if first is not None:
            self._look(self._lines[first[1]], now)

    def retime(self, now: Instant) -> None:
        """The clock was set back."""
        self._soon.clear()
        self._due.clear()
        for line in self._lines.values():
            line.leaves_ns = None
            self._look(line, now)

    def ready(self, now: Instant) -> Iterator[tuple[Waiting, Sequence[ControlledFlow]]]:
        """Those that may leave, each out of its line, with the tokens that they take."""
        if now < self._now:
            self.retime(now)
        self._now = now
        while (line := self._oldest_due(now)) is not None:
            each = self._pop(line)
            for flow in line.flows:
                flow.bucket.take(now)
            try:
                yield each, line.flows
            finally:
                # Only now what left is counted in its flows' windows.
                self._look_again(line, now)

    def next_at(self, now: Instant) -> Instant | None:
        """When the next one may leave, if nothing changes."""
        if now < self._now:
            self.retime(now)
        self._now = now
        soon = self._soon
        while self._due and not self._is_valid(*self._due[0]):
            heappop(self._due)
        if self._due:
            return now
        while soon and not self._is_valid(soon[0][1], soon[0][2], soon[0][0]):
            heappop(soon)
        return max(now, soon[0][0]) if soon else None

    # Which lines are in front.

    def _oldest_due(self, now: Instant) -> _Line | None:
        soon, due = self._soon, self._due
        while soon and soon[0][0] <= now:
            at, age, key = heappop(soon)
            if self._is_valid(age, key, at):
                heappush(due, (age, key))
        while due:
            age, key = heappop(due)
            if not self._is_valid(age, key):
                continue
            line = self._lines[key]
            if all(flow.is_open(now) for flow in line.flows):
                return line
            # Its window has filled, or opened and filled again.
            line.leaves_ns = None
            self._look(line, now)
        return None

    def _is_valid(self, age: int, key: Key, at: Instant | None = None) -> bool:
        line = self._lines.get(key)
        return (
            line is not None
            and line.leaves_ns is not None
            and line.waiting[0].age == age
            and (at is None or line.leaves_ns == at)
        )

    def _look_again(self, line: _Line, now: Instant) -> None:
        """Its first message is another, or it is gone: those behind it may be in front."""
        line.leaves_ns = None
        if self._strict:
            if self._order:
                self._look(self._order[next(iter(self._order))], now)
            return
        for id_ in line.key:
            first = self._first(id_)
            if first is not None:
                self._look(self._lines[first[1]], now)
        if not line.key and line.waiting:
            self._look(line, now)

    def _look(self, line: _Line, now: Instant) -> None:
        """Finds out when it leaves, if it is in front."""
        age = line.waiting[0].age
        if not self._is_in_front(line, age):
            line.leaves_ns = None
            return
        at = max([flow.ready_ns(now) for flow in line.flows], default=now)
        if at != line.leaves_ns:
            line.leaves_ns = at
            heappush(self._soon, (at, age, line.key))
            if len(self._soon) > 2 * len(self._lines) + _STALE_MAX:
                self._soon = sorted(
                    {each for each in self._soon if self._is_valid(each[1], each[2], each[0])}
                )

    def _is_in_front(self, line: _Line, age: int) -> bool:
        if self._strict:
            return next(iter(self._order)) == age
        return all(self._first(id_) == (age, line.key) for id_ in line.key)

    def _first(self, flow_id: int) -> tuple[int, Key] | None:
        """The oldest message of a flow, and its line."""
        heap = self._of_flow.get(flow_id)
        if heap is None:
            return None
        while heap:
            age, key = heap[0]
            line = self._lines.get(key)
            if line is not None and line.waiting[0].age == age:
                return heap[0]
            heappop(heap)
        del self._of_flow[flow_id]
        return None

    # Lines.

    def _append(self, each: Waiting, flows: Sequence[ControlledFlow], now: Instant) -> None:
        key = tuple(sorted([flow.id for flow in flows]))
        line = self._lines.get(key)
        if line is not None:
            line.waiting.append(each)
            self._order[each.age] = line
            return
        line = self._lines[key] = _Line(key, flows)
        line.waiting.append(each)
        self._order[each.age] = line
        self._is_first(line)
        self._look(line, now)

    def _pop(self, line: _Line) -> Waiting:
        each = line.waiting.popleft()
        del self._order[each.age]
        if not line.waiting:
            del self._lines[line.key]
        else:
            self._is_first(line)
        return each

    def _is_first(self, line: _Line) -> None:
        """Another of its messages is the first."""
        first = line.waiting[0].age, line.key
        for id_ in line.key:
            heappush(self._of_flow.setdefault(id_, []), first)
