"""What happens next: a heap of (time, serial), and lanes that keep the heap small.

Two events at the same instant happen in the order in which they were
scheduled. That is the whole rule, and it does not bend for lanes.

A *lane* is a first-in first-out row of events, such as the packets on a wire.
Their times never decrease, so only the first needs to be in the heap: the heap
then holds one entry per link instead of one per packet, and an append to a busy
lane costs no heap operation at all. An entry is a tuple

    (at, serial, None, action, arguments)   an event that stands alone
    (at, serial, lane, action, item, ...)   an event of a lane, called with its one item

and what follows the item belongs to the owner of the lane. Links build entries
themselves, because a call per packet is what they can least afford; `schedule`
is for all others. Knows nothing of links, hosts or frames.
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
    """The order of the world; `now` is the global time of the event that is happening."""

    __slots__ = ("heap", "next_serial", "now")

    def __init__(self) -> None:
        self.now: Instant = 0
        self.heap: list[Entry] = []
        self.next_serial: Callable[[], int] = count().__next__

    def schedule(self, at: Instant, action: Callable[..., object], *arguments: object) -> None:
        """Calls `action(*arguments)` when the time is `at`."""
        assert at >= self.now, f"{at} is {self.now - at} ns in the past"
        heappush(self.heap, (at, self.next_serial(), None, action, arguments))

    def run(self, until: Instant) -> None:
        """Lets everything happen that is due at `until` or before; the time is `until` after."""
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
            else:  # its owner emptied the lane while its first entry was in the heap
                heappop(heap)
        self.now = max(self.now, until)
