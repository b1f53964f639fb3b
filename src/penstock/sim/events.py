"""The event queue: a heap of (time, serial), and lanes that keep the heap small.

Events at the same instant run in the order in which they were scheduled, in lanes too.

A *lane* is a first-in first-out queue of events, such as the packets on a wire. Times in a lane
never decrease, so only its first event is in the heap: the heap holds one entry per link
instead of one per packet, and an append to a busy lane costs no heap operation. An entry is a
tuple

    (at, serial, None, action, arguments)   a single event
    (at, serial, lane, action, item, ...)   an event of a lane, called with its one item

where the fields after the item belong to the lane's owner. Links build their entries
themselves, because a function call per packet is too slow; all others call `schedule`. Knows
nothing of links, hosts or frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Any, TypeAlias

from penstock.kernel.instant import Instant

Entry: TypeAlias = tuple[Any, ...]
Lane: TypeAlias = deque[Entry]


class EventQueue:
    """Pending events in order; `now` is the global time of the event that runs."""

    __slots__ = ("heap", "next_serial", "now")

    def __init__(self) -> None:
        self.now: Instant = 0
        self.heap: list[Entry] = []
        self.next_serial: Callable[[], int] = count().__next__

    def schedule(self, at: Instant, action: Callable[..., object], *arguments: object) -> None:
        """Schedules `action(*arguments)` for the instant `at`."""
        assert at >= self.now, f"{at} is {self.now - at} ns in the past"
        heappush(self.heap, (at, self.next_serial(), None, action, arguments))

    def run(self, until: Instant) -> None:
        """Runs all events due at `until` or before; `now` is at least `until` afterwards."""
        heap = self.heap
        while heap:
            entry = heap[0]
            at = entry[0]
            if at > until:
                break
            lane = entry[2]
            if lane is None:
                heappop(heap)
                self.now = at
                entry[3](*entry[4])
            elif lane:
                lane.popleft()
                if lane:
                    heapreplace(heap, lane[0])
                else:
                    heappop(heap)
                self.now = at
                entry[3](entry[4])
            else:  # the owner emptied the lane while its first entry was in the heap
                heappop(heap)
        self.now = max(self.now, until)
