"""Timers by key, with one next wake-up.

Setting a timer again moves it; cancelled entries stay in the heap until they surface or outnumber
the live ones, so every operation is O(log n) amortised and memory stays within about twice the
number of live timers.
"""

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from penstock.kernel.instant import Instant

Key = TypeVar("Key", bound=Hashable)

# Below this size a rebuild costs more than the stale entries it would remove.
_REBUILD_MIN = 64


class Timers(Generic[Key]):
    """Deadlines by key; ties fire in the order in which they were set."""

    __slots__ = ("_heap", "_live", "_serial")

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Key]] = []
        # The current entry of each key, the same object as in the heap; other heap entries are
        # stale.
        self._live: dict[Key, tuple[Instant, int, Key]] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: Key) -> bool:
        return key in self._live

    def set(self, key: Key, at: Instant) -> None:
        """Arms `key`, or moves it if it is armed already."""
        self._serial += 1
        self._live[key] = entry = (at, self._serial, key)
        heappush(self._heap, entry)
        self._shed_stale()

    def cancel(self, key: Key) -> None:
        """Disarms `key`; cancelling an unarmed key is no error."""
        if self._live.pop(key, None) is not None:
            self._shed_stale()

    def deadline(self, key: Key) -> Instant | None:
        """The deadline of `key`; None if it is not armed."""
        armed = self._live.get(key)
        return None if armed is None else armed[0]

    def next_wakeup(self) -> Instant | None:
        """The earliest deadline."""
        heap, live = self._heap, self._live
        while heap:
            entry = heap[0]
            if live.get(entry[2]) is entry:
                return entry[0]
            heappop(heap)
        return None

    def due(self, now: Instant) -> Iterator[Key]:
        """Disarms and yields every key whose deadline is not after `now`, earliest first.

        Timers set while iterating fire in the same pass if they are due too.
        """
        while (at := self.next_wakeup()) is not None and at <= now:
            key = heappop(self._heap)[2]
            del self._live[key]
            yield key

    def _shed_stale(self) -> None:
        """Rebuilds the heap when most of it is stale."""
        if len(self._heap) > _REBUILD_MIN and len(self._heap) > 2 * len(self._live):
            self._heap = list(self._live.values())
            heapify(self._heap)
