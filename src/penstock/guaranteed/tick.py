"""Ticks: points of stream time, 64-bit numbers that carry a time.

The upper 44 bits of a tick are milliseconds of stream time, about Unix time; the lower 20 bits are
a counter, which tells messages of one millisecond apart. A tick is therefore also a time in units
of 2^-20 ms, and the difference of two is a duration.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration

_COUNTER_BITS: Final = 20
TICKS_PER_MS: Final = 1 << _COUNTER_BITS


def tick_of(ms: int) -> int:
    """The first tick of a millisecond."""
    return ms << _COUNTER_BITS


def ms_of(tick: int) -> int:
    """The millisecond that a tick lies in."""
    return tick >> _COUNTER_BITS


def duration_ticks(duration_ns: Duration) -> int:
    """How many whole ticks a duration lasts."""
    return duration_ns * TICKS_PER_MS // MILLISECOND


def duration_ns(ticks: int) -> Duration:
    """How long that many ticks last, in whole nanoseconds."""
    return ticks * MILLISECOND // TICKS_PER_MS


def seconds_between(earlier: int, later: int) -> float:
    """The time from one tick to another in seconds, for people; negative if it is the other way."""
    return (later - earlier) / (1_000 * TICKS_PER_MS)
