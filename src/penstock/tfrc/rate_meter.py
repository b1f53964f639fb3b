"""How much comes in a second, over the last stretch of time.

Time is cut in slots, of which a stretch has eight: what is remembered does not grow
with the rate.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

_SLOTS: Final = 8
_SLOTS_MAX: Final = 8 * _SLOTS
OVER_MIN_NS: Final = 200 * MILLISECOND


class Meter:
    """Counts; how long a stretch is may change while it does."""

    __slots__ = (
        "_began",
        "_from_ns",
        "_last",
        "_over_ns",
        "_slots",
        "_total",
        "_until_ns",
        "_width_ns",
    )

    def __init__(self) -> None:
        self._over_ns: Duration = OVER_MIN_NS
        self._width_ns: Duration = OVER_MIN_NS // _SLOTS
        # The number of a slot, and what came in it.
        self._slots: Final[deque[list[float]]] = deque()
        self._total = 0.0
        self._began: Instant | None = None
        # The slot that was counted in last, and its time: most messages come in the same.
        self._last: list[float] = []
        self._from_ns = self._until_ns = 0

    def count(self, now: Instant, amount: float = 1.0) -> None:
        """So much came."""
        if not self._from_ns <= now < self._until_ns:
            self._turn_to(now)
        self._last[1] += amount
        self._total += amount

    def _turn_to(self, now: Instant) -> None:
        """Another slot is counted in."""
        if self._began is None:
            self._began = now
        slot = now // self._width_ns
        slots = self._slots
        if slots and slots[-1][0] > slot + _SLOTS:
            # The clock was set back.
            slots.clear()
            self._total, self._began = 0.0, now
        if not slots or slots[-1][0] < slot:
            slots.append([slot, 0.0])
            if len(slots) > _SLOTS_MAX:
                # Nobody has asked for the rate for long.
                self._total -= slots.popleft()[1]
        self._last = slots[-1]
        self._from_ns = slot * self._width_ns
        self._until_ns = self._from_ns + self._width_ns

    def over(self, over_ns: Duration) -> None:
        """From now on it is looked back so far; what is counted is not lost unless it changes."""
        over_ns = max(OVER_MIN_NS, over_ns)
        if not 0.7 < over_ns / self._over_ns < 1.4:
            scale = (self._over_ns // _SLOTS) / (over_ns // _SLOTS)
            for slot in self._slots:
                slot[0] = int(slot[0] * scale)
            self._over_ns = over_ns
            self._width_ns = over_ns // _SLOTS
            self._until_ns = self._from_ns

    def rate(self, now: Instant) -> float:
        """A second, over the last stretch or since the first."""
        width_ns = self._width_ns
        oldest = now // width_ns - _SLOTS
        while self._slots and self._slots[0][0] <= oldest:
            self._total -= self._slots.popleft()[1]
        if self._began is None or not self._slots:
            self._total, self._until_ns = 0.0, self._from_ns
            return 0.0
        # The slot that is not over is part of it.
        over_ns = min((_SLOTS - 1) * width_ns + now % width_ns, now - self._began)
        return self._total * SECOND / max(over_ns, width_ns)
