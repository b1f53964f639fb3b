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

R_FIRST_NS: Final = 500 * MILLISECOND
_R_MIN_NS: Final = MILLISECOND
# Of what was: the limiting receiver is measured often, and must not jump.
_KEEP_LIMITING: Final = 0.9
_KEEP: Final = 0.5
# Round trips over which messages move it, and move what it is just now.
_OVER: Final = 10
_OVER_NOW: Final = 0.5


class Rtt:
    """Of one session."""

    __slots__ = ("_at", "_back_ns", "_mean_ns", "is_measured", "least_ns", "now_ns", "way_ns")

    def __init__(self) -> None:
        self._mean_ns: float = R_FIRST_NS
        # What it is just now: longer than the mean while a queue grows.
        self.now_ns: float = R_FIRST_NS
        self.is_measured = False
        # The shortest there was: without queues, that is.
        self.least_ns: Duration = R_FIRST_NS
        # Now less the stamp, of the last message: the way here and the clocks.
        self.way_ns: Duration = 0
        # The way back, less the clocks.
        self._back_ns: Duration | None = None
        self._at: Instant | None = None

    @property
    def ns(self) -> Duration:
        """R, on average over some round trips."""
        return round(self._mean_ns)

    def on_message(self, way_ns: Duration, now: Instant) -> None:
        """A message, `way_ns` after its stamp."""
        since_ns = 0 if self._at is None else max(0, now - self._at)
        self.way_ns, self._at = way_ns, now
        if self._back_ns is not None:
            seen_ns = max(self._back_ns + way_ns, _R_MIN_NS)
            self.least_ns = min(self.least_ns, seen_ns)
            share = min(1.0, since_ns / (_OVER * self._mean_ns))
            self._mean_ns += share * (seen_ns - self._mean_ns)
            share = min(1.0, since_ns / (_OVER_NOW * self._mean_ns))
            self.now_ns += share * (seen_ns - self.now_ns)

    def on_echo(self, sample_ns: Duration, way_ns: Duration, *, is_limiting: bool) -> None:
        """There and back took so long, less what the publisher held it for."""
        sample_ns = max(sample_ns, _R_MIN_NS)
        if not self.is_measured:
            self.is_measured = True
            self._mean_ns, self.now_ns = sample_ns, sample_ns
        else:
            keep = _KEEP_LIMITING if is_limiting else _KEEP
            self._mean_ns = keep * self._mean_ns + (1 - keep) * sample_ns
        self.least_ns = min(self.least_ns, sample_ns)
        self._back_ns = sample_ns - way_ns
        self.way_ns = way_ns

    def due_ns(self, departed_ns: Instant) -> Instant:
        """When a message would come, by our clock, that left then by the publisher's."""
        return departed_ns + self.way_ns
