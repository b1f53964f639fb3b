"""Stamps of packets: microseconds at the publisher, in 32 bits that wrap."""

from __future__ import annotations

from penstock.kernel.instant import MICROSECOND, Duration, Instant
from penstock.kernel.sequence import ECHO_STAMP
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us


def stamp(now: Instant) -> int:
    """The stamp of what is sent now."""
    return stamp_us(now, ECHO_STAMP_BITS)


def held(stamp_us: int, duration_ns: Duration) -> int:
    """A stamp that was kept for so long."""
    return ECHO_STAMP.next(stamp_us, duration_ns // MICROSECOND)


def since_ns(later_us: int, earlier_us: int) -> Duration:
    """From one stamp to another; negative if the later one is the earlier."""
    return ECHO_STAMP.distance(later_us, earlier_us) * MICROSECOND
