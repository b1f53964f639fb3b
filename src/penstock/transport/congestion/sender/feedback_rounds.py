"""Rounds of feedback: each as long as six of the longest round trip that any receiver has.

That one follows the largest that is said in a round, and is forgotten slowly.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.tfrc.round_trip import R_FIRST_NS
from penstock.transport.congestion.receiver.suppression import ROUND_TRIPS
from penstock.wire.quantise import r_max_code

_KEPT: Final = 0.9
# However short round trips are, or somebody says that they are.
_ROUND_MIN_NS: Final = 100 * MILLISECOND


class Rounds:
    """Of one publisher; there are none before it publishes."""

    __slots__ = ("_is_known", "_peak_ns", "ends_at", "number", "r_code", "r_max_ns")

    def __init__(self) -> None:
        self.r_max_ns: Duration = R_FIRST_NS
        # The same, as messages say it.
        self.r_code = r_max_code(R_FIRST_NS)
        self._is_known = False
        self._peak_ns: Duration = 0
        self.number = 0
        self.ends_at: Instant | None = None

    def begin(self, now: Instant) -> None:
        """Something is published."""
        if self.ends_at is None:
            self._next(now)

    def on_rtt(self, rtt_ns: Duration) -> None:
        """A receiver says how long its round trip is."""
        self._peak_ns = max(self._peak_ns, rtt_ns)
        self._set(max(self.r_max_ns, rtt_ns) if self._is_known else rtt_ns)
        self._is_known = True

    def wake(self, now: Instant) -> None:
        """The next one, if this one is over."""
        if self.ends_at is not None and now >= self.ends_at:
            self.number = (self.number + 1) & 0xFF
            if self._peak_ns:
                self._set(max(round(_KEPT * self.r_max_ns), self._peak_ns))
            self._peak_ns = 0
            self._next(now)

    def _next(self, now: Instant) -> None:
        self.ends_at = now + max(ROUND_TRIPS * self.r_max_ns, _ROUND_MIN_NS)

    def _set(self, r_max_ns: Duration) -> None:
        self.r_max_ns = r_max_ns
        self.r_code = r_max_code(r_max_ns)
