"""When the next train may leave, at a rate in bytes a second."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND, SECOND, Instant

# How far behind its schedule a sender may catch up at once.
_CATCH_UP_NS = 20 * MILLISECOND


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
        start = max(self._next_at, now - _CATCH_UP_NS)
        self._next_at = start + size_bytes * SECOND // self.rate_bps
