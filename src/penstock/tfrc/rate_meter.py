"""A rate meter over a sliding interval.

The interval is divided into eight time slots, so memory does not grow with the rate. The meter
does not know what it counts.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

_SLOTS: Final = 8
_SLOTS_MAX: Final = 8 * _SLOTS
INTERVAL_MIN_NS: Final = 200 * MILLISECOND


class RateMeter:
    """Counts amounts and reports their rate per second; the interval may change."""

    __slots__ = (
        "_current_slot",
        "_interval_ns",
        "_slot_end_ns",
        "_slot_start_ns",
        "_slot_width_ns",
        "_slots",
        "_started_at",
        "_total",
    )

    def __init__(self) -> None:
        self._interval_ns: Duration = INTERVAL_MIN_NS
        self._slot_width_ns: Duration = INTERVAL_MIN_NS // _SLOTS
        # Slot index and the amount counted in it, oldest first.
        self._slots: Final[deque[list[float]]] = deque()
        self._total = 0.0
        self._started_at: Instant | None = None
        # The last slot used and its bounds: most amounts fall into the same slot again.
        self._current_slot: list[float] = []
        self._slot_start_ns = self._slot_end_ns = 0

    def count(self, now: Instant, amount: float = 1.0) -> None:
        """Add an amount at the time `now`."""
        if not self._slot_start_ns <= now < self._slot_end_ns:
            self._select_slot(now)
        self._current_slot[1] += amount
        self._total += amount

    def _select_slot(self, now: Instant) -> None:
        """Make the slot of `now` the current one."""
        if self._started_at is None:
            self._started_at = now
        slot = now // self._slot_width_ns
        slots = self._slots
        if slots and slots[-1][0] > slot + _SLOTS:
            # The clock was set back.
            slots.clear()
            self._total, self._started_at = 0.0, now
        if not slots or slots[-1][0] < slot:
            slots.append([slot, 0.0])
            if len(slots) > _SLOTS_MAX:
                # `rate`, which removes old slots, has not been called for a long time.
                self._total -= slots.popleft()[1]
        self._current_slot = slots[-1]
        self._slot_start_ns = slot * self._slot_width_ns
        self._slot_end_ns = self._slot_start_ns + self._slot_width_ns

    def set_interval(self, interval_ns: Duration) -> None:
        """Set the interval and keep the counts; ratios between 0.7 and 1.4 change nothing."""
        interval_ns = max(INTERVAL_MIN_NS, interval_ns)
        if not 0.7 < interval_ns / self._interval_ns < 1.4:
            scale = (self._interval_ns // _SLOTS) / (interval_ns // _SLOTS)
            for slot in self._slots:
                slot[0] = int(slot[0] * scale)
            self._interval_ns = interval_ns
            self._slot_width_ns = interval_ns // _SLOTS
            self._slot_end_ns = self._slot_start_ns

    def rate(self, now: Instant) -> float:
        """The amount per second, over the interval or since the first count."""
        width_ns = self._slot_width_ns
        oldest = now // width_ns - _SLOTS
        while self._slots and self._slots[0][0] <= oldest:
            self._total -= self._slots.popleft()[1]
        if self._started_at is None or not self._slots:
            self._total, self._slot_end_ns = 0.0, self._slot_start_ns
            return 0.0
        # The current slot counts up to `now` only.
        interval_ns = min((_SLOTS - 1) * width_ns + now % width_ns, now - self._started_at)
        return self._total * SECOND / max(interval_ns, width_ns)
