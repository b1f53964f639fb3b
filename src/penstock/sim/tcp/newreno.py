"""NewReno's window: one segment more each round, half of them on a loss (RFC 5681)."""

from __future__ import annotations

from math import inf
from typing import Final

from penstock.kernel.instant import Duration, Instant

INITIAL_SEGMENTS: Final = 10.0
_SEGMENTS_MIN: Final = 2.0


class NewReno:
    """Additive increase, multiplicative decrease."""

    __slots__ = ("size", "threshold")

    def __init__(self) -> None:
        self.size = INITIAL_SEGMENTS
        self.threshold = inf

    def on_progress(self, segments: int, *, srtt: Duration, now: Instant) -> None:  # noqa: ARG002
        """Slow start up to the threshold, then one segment per window."""
        if self.size < self.threshold:
            self.size += segments
        else:
            self.size += segments / self.size

    def on_loss(self, flight: int, *, now: Instant) -> None:  # noqa: ARG002
        """Halves the number of segments in flight."""
        self.threshold = max(flight / 2, _SEGMENTS_MIN)
        self.size = self.threshold

    def on_timeout(self, flight: int, *, now: Instant) -> None:  # noqa: ARG002
        """Restarts slow start from one segment."""
        self.threshold = max(flight / 2, _SEGMENTS_MIN)
        self.size = 1.0
