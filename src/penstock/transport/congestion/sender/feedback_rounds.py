"""Feedback rounds, each six maximum round trips long, and the maximum round trip itself.

The maximum rises at once to the largest round trip reported. At the end of a round with reports
it decays by a tenth, but not below the largest of that round.
Does not know who reports it: `feedback_limits` caps it before.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.tfrc.round_trip import INITIAL_ROUND_TRIP_NS
from penstock.transport.congestion.feedback_protocol import ROUND_TRIPS
from penstock.wire.quantise import encode_round_trip

_DECAY: Final = 0.9
# The shortest round, however short the reported round trips are.
_ROUND_MIN_NS: Final = 100 * MILLISECOND


class FeedbackRounds:
    """The feedback rounds of one publisher; the first begins with its first message."""

    __slots__ = (
        "_is_measured",
        "_peak_ns",
        "current_round",
        "ends_at",
        "max_round_trip_code",
        "max_round_trip_ns",
    )

    def __init__(self) -> None:
        self.max_round_trip_ns: Duration = INITIAL_ROUND_TRIP_NS
        # The same value, as encoded in the DATA header.
        self.max_round_trip_code = encode_round_trip(INITIAL_ROUND_TRIP_NS)
        self._is_measured = False
        self._peak_ns: Duration = 0
        self.current_round = 0
        self.ends_at: Instant | None = None

    def begin(self, now: Instant) -> None:
        """Begin the first round, at the first message."""
        if self.ends_at is None:
            self._begin_round(now)

    def on_rtt(self, rtt_ns: Duration) -> None:
        """Record a round trip that a receiver reports."""
        self._peak_ns = max(self._peak_ns, rtt_ns)
        self._set_max_round_trip(
            max(self.max_round_trip_ns, rtt_ns) if self._is_measured else rtt_ns
        )
        self._is_measured = True

    def wake(self, now: Instant) -> None:
        """Begin the next round if the current one has ended."""
        if self.ends_at is not None and now >= self.ends_at:
            self.current_round = (self.current_round + 1) & 0xFF
            if self._peak_ns:
                self._set_max_round_trip(max(round(_DECAY * self.max_round_trip_ns), self._peak_ns))
            self._peak_ns = 0
            self._begin_round(now)

    def _begin_round(self, now: Instant) -> None:
        self.ends_at = now + max(ROUND_TRIPS * self.max_round_trip_ns, _ROUND_MIN_NS)

    def _set_max_round_trip(self, max_round_trip_ns: Duration) -> None:
        self.max_round_trip_ns = max_round_trip_ns
        self.max_round_trip_code = encode_round_trip(max_round_trip_ns)
