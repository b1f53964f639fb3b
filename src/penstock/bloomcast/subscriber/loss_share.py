"""The share of generation 0 that was lost while a subscriber took part.

What came before it joined is missing too, but says nothing of its path.
"""

from __future__ import annotations

from penstock.bloomcast.segment.repair_count import LOSS_ONE


class LossShare:
    """Counts by place in the order of sending."""

    __slots__ = ("_end", "_received", "_start")

    def __init__(self) -> None:
        self._start = -1
        self._end = 0
        self._received = 0

    def arrived(self, start: int, stop: int, count: int) -> None:
        """So many of the symbols at these places have come."""
        if self._start < 0:
            self._start = start
        self._end = max(self._end, stop)
        self._received += count

    def ended(self, stop: int) -> None:
        """All have been sent."""
        if self._start >= 0:
            self._end = max(self._end, stop)

    @property
    def loss(self) -> int:
        """In 2^-16."""
        expected = self._end - self._start if self._start >= 0 else 0
        if expected <= 0 or self._received >= expected:
            return 0
        return (expected - self._received) * LOSS_ONE // expected
