"""When the next train may leave, at a rate in bytes a second."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant

# How far behind its schedule a sender may catch up at once.
_CATCH_UP_NS: Final[Duration] = 20 * MILLISECOND
# One that is further behind has had nothing to send: it begins anew.
_PAUSE_NS: Final[Duration] = 200 * MILLISECOND


class Pacing:
    """A schedule that a slow driver does not lose time by."""

    def __init__(self, rate_bps: int) -> None:
        self.rate_bps = rate_bps
        self._next_at: Instant = 0

    def next_at(self, now: Instant) -> Instant:
        """When the next train may leave."""
        return max(self._next_at, now)

    def sent(self, size_bytes: int, now: Instant) -> None:
        """A train has left."""
        behind_ns = now - self._next_at
        start = now if behind_ns >= _PAUSE_NS else max(self._next_at, now - _CATCH_UP_NS)
        self._next_at = start + size_bytes * SECOND // self.rate_bps
