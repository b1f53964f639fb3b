"""Messages that wait until all the flows that they are in have tokens.

Messages in the same flows wait in one line, in their order. Of two lines that share a
flow the one whose first message is older goes first; others do not hold each other up.
With `strict` there is one line for all [C13].
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from penstock.content.message import Message
from penstock.kernel.instant import Instant
from penstock.transport.congestion.table import ControlledFlow


class Waiting(NamedTuple):
    """One message."""

    age: int
    message: Message
    since_ns: Instant


class _Line:
    __slots__ = ("flows", "waiting")

    def __init__(self, flows: Sequence[ControlledFlow]) -> None:
        self.flows = flows
        self.waiting: Final[deque[Waiting]] = deque()


class Outbox:
    """Of one publisher."""

    def __init__(self, *, strict: bool) -> None:
        self._strict: Final = strict
        # By the numbers of the flows.
        self._lines: dict[tuple[int, ...], _Line] = {}
        self._age = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, message: Message, flows: Sequence[ControlledFlow], now: Instant) -> None:
        """The newest."""
        self._age += 1
        self._append(Waiting(self._age, message, now), flows)

    def drop_oldest(self) -> Waiting:
        """The oldest goes, unsent."""
        key, line = min(self._lines.items(), key=lambda item: item[1].waiting[0].age)
        return self._pop(key, line)

    def waiting(self) -> list[Waiting]:
        """All that wait, the oldest first."""
        return sorted(each for line in self._lines.values() for each in line.waiting)

    def waiting_by_flow(self) -> dict[int, int]:
        """How many messages wait in each flow, by its number; one may be in several."""
        found: dict[int, int] = {}
        for line in self._lines.values():
            for flow in line.flows:
                found[flow.id] = found.get(flow.id, 0) + len(line.waiting)
        return found

    def rematch(self, match: Callable[[Message], Sequence[ControlledFlow]]) -> None:
        """Flows came or went."""
        waiting = self.waiting()
        self._lines, self._size = {}, 0
        for each in waiting:
            self._append(each, match(each.message))

    def ready(self, now: Instant) -> Iterator[tuple[Waiting, Sequence[ControlledFlow]]]:
        """Those that may leave, each out of its line; whoever takes it takes the tokens."""
        while True:
            found = self._first_ready(now)
            if found is None:
                return
            key, line = found
            yield self._pop(key, line), line.flows

    def next_at(self, now: Instant) -> Instant | None:
        """When the next one may leave, if nothing changes."""
        waits = [
            max((flow.wait_ns(now) for flow in line.flows), default=0)
            for line in self._candidates()
        ]
        return now + min(waits) if waits else None

    def _first_ready(self, now: Instant) -> tuple[tuple[int, ...], _Line] | None:
        for line in self._candidates():
            if all(flow.is_open(now) for flow in line.flows):
                return self._key(line.flows), line
        return None

    def _candidates(self) -> Iterator[_Line]:
        """The lines whose first message is behind no older one."""
        behind: set[int] = set()
        for line in sorted(self._lines.values(), key=lambda line: line.waiting[0].age):
            ids = {flow.id for flow in line.flows}
            if behind.isdisjoint(ids):
                yield line
            behind |= ids
            if self._strict:
                return

    def _append(self, each: Waiting, flows: Sequence[ControlledFlow]) -> None:
        key = self._key(flows)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(flows)
        line.waiting.append(each)
        self._size += 1

    def _pop(self, key: tuple[int, ...], line: _Line) -> Waiting:
        self._size -= 1
        each = line.waiting.popleft()
        if not line.waiting:
            del self._lines[key]
        return each

    def _key(self, flows: Sequence[ControlledFlow]) -> tuple[int, ...]:
        return tuple(sorted(flow.id for flow in flows))
