"""Time inside the program: whole nanoseconds, never floats.

An `Instant` is a point on one host's monotonic clock, a `Duration` the difference of two. Integers
keep simulation exact and replayable; timestamps on the wire are microseconds (see `wire`).
"""

from typing import Final, TypeAlias

from penstock.kernel.errors import UsageError

Instant: TypeAlias = int
Duration: TypeAlias = int

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000


def seconds(amount: float) -> Duration:
    """The duration nearest to `amount` seconds."""
    try:
        return round(amount * SECOND)
    except (ValueError, OverflowError):
        raise UsageError(f"a duration must be a finite number of seconds, not {amount}") from None


def to_seconds(duration: Duration) -> float:
    """Seconds as a float, for people and plots; arithmetic stays in nanoseconds."""
    return duration / SECOND


def earliest(*times: Instant | None) -> Instant | None:
    """The earliest of several wake-ups; None means never."""
    first = None
    for at in times:
        if at is not None and (first is None or at < first):
            first = at
    return first
