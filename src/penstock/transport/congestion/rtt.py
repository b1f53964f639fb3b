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
# Of messages there are many in a round trip.
_KEEP_BETWEEN: Final = 0.98
_KEEP_LONG: Final = 0.99


class Rtt:
    """Of one session."""

    __slots__ = ("_back_ns", "is_measured", "long_ns", "ns", "way_ns")

    def __init__(self) -> None:
        self.ns: Duration = R_FIRST_NS
        self.is_measured = False
        # Slower than `ns`, to see whether a queue grows.
        self.long_ns: float = R_FIRST_NS
        # Now less the stamp, of the last message: the way here and the clocks.
        self.way_ns: Duration = 0
        # The way back, less the clocks.
        self._back_ns: Duration | None = None

    def on_message(self, way_ns: Duration) -> None:
        """A message, `way_ns` after its stamp."""
        self.way_ns = way_ns
        if self._back_ns is not None:
            now_ns = max(self._back_ns + way_ns, _R_MIN_NS)
            self.ns = round(_KEEP_BETWEEN * self.ns + (1 - _KEEP_BETWEEN) * now_ns)
            self.long_ns = _KEEP_LONG * self.long_ns + (1 - _KEEP_LONG) * now_ns

    def on_echo(self, sample_ns: Duration, way_ns: Duration, *, is_limiting: bool) -> None:
        """There and back took so long, less what the publisher held it for."""
        sample_ns = max(sample_ns, _R_MIN_NS)
        if not self.is_measured:
            self.is_measured = True
            self.ns, self.long_ns = sample_ns, sample_ns
        else:
            keep = _KEEP_LIMITING if is_limiting else _KEEP
            self.ns = round(keep * self.ns + (1 - keep) * sample_ns)
        self._back_ns = sample_ns - way_ns
        self.way_ns = way_ns

    def due_ns(self, departed_ns: Instant) -> Instant:
        """When a message would come, by our clock, that left then by the publisher's."""
        return departed_ns + self.way_ns
