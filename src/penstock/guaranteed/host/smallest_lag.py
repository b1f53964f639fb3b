"""The smallest lag of the last minutes: what the way to a host takes when nothing is in it.

Kept as one minimum for each stretch of ten seconds.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant

STRETCH_NS: Final = 10 * SECOND
STRETCHES_MAX: Final = 30


class SmallestLag:
    """Of one host and pubend."""

    def __init__(self) -> None:
        # Number of the stretch, and its minimum; minima rise, for a smaller one that is newer
        # makes older ones idle.
        self._minima: Final[deque[tuple[int, Duration]]] = deque()

    def __len__(self) -> int:
        return len(self._minima)

    def add(self, lag_ns: Duration, *, now: Instant) -> Duration:
        """Takes a measurement; returns the smallest of the last minutes."""
        minima, stretch = self._minima, now // STRETCH_NS
        while minima and minima[-1][1] >= lag_ns:
            minima.pop()
        if not minima or minima[-1][0] < stretch:
            minima.append((stretch, lag_ns))
        while minima[0][0] <= stretch - STRETCHES_MAX:
            minima.popleft()
        return minima[0][1]
