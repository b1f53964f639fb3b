"""The round trip to a publisher, with one-way corrections between echoes (RFC 4654 §4.3).

An echo of the receiver's own timestamp measures the round trip R. Every message carries the
publisher's timestamp; the clock offset is unknown, but it cancels out, because the return path
and the offset are both part of D, which stays constant until the next echo:

    D = R − (now − stamp)      at an echo
    R' = D + (now − stamp)     at any later message

Does not know frames, nor when echoes are requested.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant

INITIAL_ROUND_TRIP_NS: Final = 500 * MILLISECOND
_ROUND_TRIP_MIN_NS: Final = MILLISECOND
# Weight of the old mean; higher for the limiting receiver, which is measured often and whose
# estimate must not jump.
_SMOOTHING_LIMITING: Final = 0.9
_SMOOTHING: Final = 0.5
# Time constants of one-way corrections, in round trips: of the mean and of the current value.
_MEAN_ROUND_TRIPS: Final = 10
_CURRENT_ROUND_TRIPS: Final = 0.5


class RoundTrip:
    """The round-trip estimate of one session."""

    __slots__ = (
        "_last_message_at",
        "_mean_ns",
        "_return_ns",
        "current_ns",
        "is_measured",
        "min_ns",
        "one_way_ns",
    )

    def __init__(self) -> None:
        self._mean_ns: float = INITIAL_ROUND_TRIP_NS
        # A fast average: larger than the mean while a queue grows.
        self.current_ns: float = INITIAL_ROUND_TRIP_NS
        self.is_measured = False
        # The minimum observed: the path without queues.
        self.min_ns: Duration = INITIAL_ROUND_TRIP_NS
        # Arrival minus timestamp of the last message: one-way delay plus clock offset.
        self.one_way_ns: Duration = 0
        # D: the return delay minus the clock offset; None before the first echo.
        self._return_ns: Duration | None = None
        self._last_message_at: Instant | None = None

    @property
    def mean_ns(self) -> Duration:
        """The smoothed round trip R."""
        return round(self._mean_ns)

    def on_message(self, one_way_ns: Duration, now: Instant) -> None:
        """Correct the estimate by a message that arrived `one_way_ns` after its timestamp."""
        elapsed_ns = 0 if self._last_message_at is None else max(0, now - self._last_message_at)
        self.one_way_ns, self._last_message_at = one_way_ns, now
        if self._return_ns is not None:
            sample_ns = max(self._return_ns + one_way_ns, _ROUND_TRIP_MIN_NS)
            self.min_ns = min(self.min_ns, sample_ns)
            share = min(1.0, elapsed_ns / (_MEAN_ROUND_TRIPS * self._mean_ns))
            self._mean_ns += share * (sample_ns - self._mean_ns)
            share = min(1.0, elapsed_ns / (_CURRENT_ROUND_TRIPS * self._mean_ns))
            self.current_ns += share * (sample_ns - self.current_ns)

    def on_echo(self, sample_ns: Duration, one_way_ns: Duration, *, is_limiting: bool) -> None:
        """Update the estimate by an echo; `sample_ns` excludes the publisher's hold time."""
        sample_ns = max(sample_ns, _ROUND_TRIP_MIN_NS)
        if not self.is_measured:
            self.is_measured = True
            self._mean_ns, self.current_ns = sample_ns, sample_ns
        else:
            smoothing = _SMOOTHING_LIMITING if is_limiting else _SMOOTHING
            self._mean_ns = smoothing * self._mean_ns + (1 - smoothing) * sample_ns
        self.min_ns = min(self.min_ns, sample_ns)
        self._return_ns = sample_ns - one_way_ns
        self.one_way_ns = one_way_ns
