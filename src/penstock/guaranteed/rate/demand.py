"""What publishers would publish if nobody slowed them down.

Of one publisher it is the highest rate of ten seconds within its last minute without throttling. A
burst of a second, such as what a program has gathered before it connects, says little of the rest.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

_SLOT_NS: Final = 250 * MILLISECOND
_SLOTS_PER_S: Final = SECOND // _SLOT_NS
# A rate is that of so many slots.
_SLOTS: Final = 10 * _SLOTS_PER_S
_REMEMBERED_NS: Final = 60 * SECOND


class PublisherDemand:
    """Counts arrivals of one publisher in slots; its own time stands still while it waits."""

    def __init__(self, now: Instant) -> None:
        self._now: Instant = now
        # Time without throttling, and where its present slot ends.
        self._time: Duration = 0
        self._slot_end: Duration = _SLOT_NS
        self._slots: Final[deque[int]] = deque([0])
        # Messages in all slots.
        self._messages = 0
        # Messages of past stretches of ten seconds, falling, with when they end; the first is the
        # most.
        self._most: Final[deque[tuple[Duration, int]]] = deque()
        self._is_waiting = False
        # When it began to publish, or began again after ten seconds without a message.
        self._began: Duration = 0

    @property
    def is_new(self) -> bool:
        """Whether it has not been here for ten seconds."""
        return len(self._slots) < _SLOTS

    def is_settled(self, *, now: Instant) -> bool:
        """Whether it has published long enough to know what it wants now."""
        self._pass(now)
        return not self._messages or self._time - self._began >= _SLOTS * _SLOT_NS

    def arrived(self, messages: int, *, now: Instant) -> None:
        """Messages have come; while it waits, they say nothing of what it wants."""
        self._pass(now)
        if self._is_waiting:
            return
        if not self._messages:
            self._began = self._time
        self._slots[-1] += messages
        self._messages += messages
        if len(self._slots) == _SLOTS:
            self._remember()

    def wait(self, is_waiting: bool, *, now: Instant) -> None:
        """It waits for credit from now on, or no more."""
        self._pass(now)
        self._is_waiting = is_waiting

    def rate(self, *, now: Instant) -> float:
        """Messages a second."""
        self._pass(now)
        most = self._most[0][1] * _SLOTS_PER_S / _SLOTS if self._most else 0.0
        if len(self._slots) == _SLOTS:
            return most
        # It has not been here for ten seconds.
        return self._messages * SECOND / max(SECOND, self._time)

    def _pass(self, now: Instant) -> None:
        elapsed = max(0, now - self._now)
        self._now += elapsed
        if self._is_waiting:
            return
        self._time += elapsed
        for _ in range(_SLOTS):
            if self._time < self._slot_end:
                break
            self._next_slot()
        if self._time >= self._slot_end:
            # After a long silence all slots are empty.
            self._slot_end = self._time - self._time % _SLOT_NS + _SLOT_NS
        while self._most and self._most[0][0] + _REMEMBERED_NS < self._time:
            self._most.popleft()

    def _next_slot(self) -> None:
        self._slot_end += _SLOT_NS
        self._slots.append(0)
        if len(self._slots) > _SLOTS:
            self._messages -= self._slots.popleft()
        if len(self._slots) == _SLOTS:
            self._remember()

    def _remember(self) -> None:
        most = self._most
        while most and most[-1][1] <= self._messages:
            most.pop()
        most.append((self._slot_end, self._messages))
