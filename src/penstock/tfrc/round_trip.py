"""The round trip to a publisher, and how it changes between two measurements (RFC 4654 §4.3).

A publisher gives a receiver its own stamp back now and then: that measures R. With every
message comes the publisher's stamp, of which the receiver does not know how far their
clocks are apart; but what was left of R after the way here stays the same, so that the
way back and the clocks are in it:

    D = R − (now − stamp)      when an echo came
    R' = D + (now − stamp)     with any message after it
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant

INITIAL_ROUND_TRIP_NS: Final = 500 * MILLISECOND
_ROUND_TRIP_MIN_NS: Final = MILLISECOND
# Of what was: the limiting receiver is measured often, and must not jump.
_SMOOTHING_LIMITING: Final = 0.9
_SMOOTHING: Final = 0.5
# Round trips over which messages move it, and move what it is just now.
_MEAN_ROUND_TRIPS: Final = 10
_CURRENT_ROUND_TRIPS: Final = 0.5


class RoundTrip:
    """Of one session."""

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
        # What it is just now: longer than the mean while a queue grows.
        self.current_ns: float = INITIAL_ROUND_TRIP_NS
        self.is_measured = False
        # The shortest there was: without queues, that is.
        self.min_ns: Duration = INITIAL_ROUND_TRIP_NS
        # Now less the stamp, of the last message: the way here and the clocks.
        self.one_way_ns: Duration = 0
        # The way back, less the clocks.
        self._return_ns: Duration | None = None
        self._last_message_at: Instant | None = None

    @property
    def mean_ns(self) -> Duration:
        """R, on average over some round trips."""
        return round(self._mean_ns)

    def on_message(self, one_way_ns: Duration, now: Instant) -> None:
        """A message, `way_ns` after its stamp."""
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
        """There and back took so long, less what the publisher held it for."""
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
