"""Tokens, which messages need to leave: so many a second, and a few at once."""

from __future__ import annotations

from math import ceil
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant

_DEPTH_MIN: Final = 2.0
_DEPTH_S: Final = 0.1


class Bucket:
    """Of one flow."""

    __slots__ = ("_at", "_tokens", "rate_mps")

    def __init__(self, rate_mps: float, now: Instant) -> None:
        self.rate_mps = rate_mps
        self._tokens = 1.0
        self._at = now

    @property
    def depth(self) -> float:
        """So many may be saved up."""
        return max(_DEPTH_MIN, _DEPTH_S * self.rate_mps)

    def set_rate(self, rate_mps: float, now: Instant) -> None:
        """From now on."""
        self._fill(now)
        self.rate_mps = rate_mps
        self._tokens = min(self._tokens, self.depth)

    def tokens(self, now: Instant) -> float:
        """There are so many."""
        self._fill(now)
        return self._tokens

    def take(self, now: Instant) -> None:
        """One less; it may be owed."""
        self._fill(now)
        self._tokens -= 1

    def wait_ns(self, now: Instant) -> Duration:
        """Until there is one."""
        self._fill(now)
        if self._tokens >= 1:
            return 0
        return ceil((1 - self._tokens) * SECOND / self.rate_mps)

    def _fill(self, now: Instant) -> None:
        if now > self._at:
            earned = (now - self._at) * self.rate_mps / SECOND
            self._tokens = min(self.depth, self._tokens + earned)
        # Also if the clock was set back.
        self._at = now
