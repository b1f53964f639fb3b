"""What publishers would publish if nobody slowed them down.

Of one publisher it is the highest rate of one second within its last minute without throttling.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

_SLOT_NS: Final = 250 * MILLISECOND
_SLOTS_PER_S: Final = SECOND // _SLOT_NS
_REMEMBERED_NS: Final = 60 * SECOND


class PublisherDemand:
    """Counts arrivals of one publisher in slots; its own time stands still while it waits."""

    def __init__(self, now: Instant) -> None:
        self._now: Instant = now
        # Time without throttling, and where its present slot ends.
        self._time: Duration = 0
        self._slot_end: Duration = _SLOT_NS
        self._slots: Final[deque[int]] = deque([0], maxlen=_SLOTS_PER_S)
        # Rates of past seconds, falling, with when they end; the first is the highest.
        self._highest: Final[deque[tuple[Duration, int]]] = deque()
        self._is_waiting = False

    def arrived(self, messages: int, *, now: Instant) -> None:
        """Messages have come; while it waits, they say nothing of what it wants."""
        self._pass(now)
        if self._is_waiting:
            return
        self._slots[-1] += messages
        self._remember()

    def wait(self, is_waiting: bool, *, now: Instant) -> None:
        """It waits for credit from now on, or no more."""
        self._pass(now)
        self._is_waiting = is_waiting

    def rate(self, *, now: Instant) -> float:
        """Messages a second."""
        self._pass(now)
        return float(self._highest[0][1]) if self._highest else 0.0

    def _pass(self, now: Instant) -> None:
        elapsed, self._now = max(0, now - self._now), now
        if self._is_waiting:
            return
        self._time += elapsed
        if self._time >= self._slot_end + SECOND + _SLOT_NS:
            # Nothing came for more than a second.
            self._slots.extend([0] * _SLOTS_PER_S)
            self._slot_end = self._time - self._time % _SLOT_NS + _SLOT_NS
        while self._time >= self._slot_end:
            self._slot_end += _SLOT_NS
            self._slots.append(0)
        while self._highest and self._highest[0][0] + _REMEMBERED_NS < self._time:
            self._highest.popleft()

    def _remember(self) -> None:
        rate = sum(self._slots)
        highest = self._highest
        while highest and highest[-1][1] <= rate:
            highest.pop()
        highest.append((self._slot_end, rate))
