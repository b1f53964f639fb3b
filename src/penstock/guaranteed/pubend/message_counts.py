"""How many messages a pubend has logged up to a tick: fine for the last minutes, coarse before.

A host says from where to where it has got; this says how many messages that were.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from penstock.guaranteed.tick import TICKS_PER_MS

_SLOT_TICKS: Final = 20 * TICKS_PER_MS
# When there are so many entries, every other one of the older half goes.
ENTRIES_MAX: Final = 16_384


class MessageCounts:
    """Entries of a tick and the messages up to it; between two of them messages lie evenly."""

    def __init__(self, start: int) -> None:
        self._ticks: Final[list[int]] = [start]
        self._counts: Final[list[int]] = [0]

    def __len__(self) -> int:
        return len(self._ticks)

    def add(self, tick: int, messages: int) -> None:
        """So many messages have been logged, the last one at this tick."""
        ticks, counts = self._ticks, self._counts
        total = counts[-1] + messages
        if len(ticks) > 1 and tick < ticks[-2] + _SLOT_TICKS:
            # The newest slot grows until it is full.
            ticks[-1], counts[-1] = max(tick, ticks[-1]), total
            return
        if tick <= ticks[-1]:
            counts[-1] = total
            return
        if tick > ticks[-1] + _SLOT_TICKS:
            # Nothing was logged in between.
            ticks.append(tick - _SLOT_TICKS)
            counts.append(counts[-1])
        ticks.append(tick)
        counts.append(total)
        if len(ticks) >= ENTRIES_MAX:
            half = len(ticks) // 2
            del ticks[1:half:2]
            del counts[1:half:2]

    def between(self, after: int, upto: int) -> float:
        """Messages at ticks above `after` and up to and including `upto`."""
        return max(0.0, self._upto(upto) - self._upto(after))

    def _upto(self, tick: int) -> float:
        ticks, counts = self._ticks, self._counts
        place = bisect_right(ticks, tick)
        if place == 0:
            return 0.0
        if place == len(ticks):
            return float(counts[-1])
        start, stop = ticks[place - 1], ticks[place]
        before, behind = counts[place - 1], counts[place]
        return before + (behind - before) * (tick - start) / (stop - start)
