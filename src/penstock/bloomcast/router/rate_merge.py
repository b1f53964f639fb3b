"""Which RATEs a relay point passes on: the slowest receiver's, and of others the minimum.

Nothing is held back, so that round trips are measured from end to end.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.settings import RateSettings
from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce

_ROUND_TRIP_MAX_US: Final = 0xFFFF_FFFF


class RateMerge:
    """Of one relay point."""

    def __init__(self, settings: RateSettings, node: int) -> None:
        self._settings: Final = settings
        self._node: Final = node
        self._slowest = 0
        self._round_trip_ns: Duration = settings.round_trip_ns
        # The least that was passed on in this round trip, and when that began.
        self._least_bps: int | None = None
        self._began_at: Instant = 0

    def down(self, body: RateInForce, ends: EndTable) -> RateInForce:
        """What to send on: a relay that is named slowest names the farthest of its own ends."""
        self._round_trip_ns = max(body.round_trip_us * MICROSECOND, self._settings.interval_min_ns)
        if body.slowest == self._node and len(ends):
            farthest = max(ends, key=lambda end: end.round_trip_ns or 0)
            trip_us = body.round_trip_us + (farthest.round_trip_ns or 0) // MICROSECOND
            body = RateInForce(
                child=farthest.node,
                round_trip_us=min(trip_us, _ROUND_TRIP_MAX_US),
                rate_bps=body.rate_bps,
                slowest=farthest.node,
            )
        self._slowest = body.slowest
        return body

    def passes(self, body: AllowedRate, now: Instant) -> bool:
        """Whether the publisher needs to know what an end allows."""
        if body.child == self._slowest:
            return True
        if self._least_bps is None or now - self._began_at >= self._round_trip_ns:
            self._began_at = now
        elif body.allowed_bps >= self._least_bps:
            return False
        self._least_bps = body.allowed_bps
        return True
