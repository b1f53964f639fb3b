"""Tokens, which messages need to leave: so many a second, and a few at once.

What is reckoned does not depend on how often it is asked for: only a token that is taken,
or another rate, changes when the next one is there.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant

_DEPTH_MIN: Final = 2.0
_DEPTH_S: Final = 0.1


class Bucket:
    """Of one flow."""

    __slots__ = ("_at", "_ready_ns", "_tokens", "depth", "rate_mps")

    def __init__(self, rate_mps: float, now: Instant) -> None:
        self.rate_mps = rate_mps
        # So many may be saved up.
        self.depth = max(_DEPTH_MIN, _DEPTH_S * rate_mps)
        # There were so many then; and when there is one to take.
        self._tokens = 1.0
        self._at = self._ready_ns = now

    def set_rate(self, rate_mps: float, now: Instant) -> None:
        """From now on."""
        tokens = self.tokens(now)
        self.rate_mps = rate_mps
        self.depth = max(_DEPTH_MIN, _DEPTH_S * rate_mps)
        self._set(min(tokens, self.depth), now)

    def tokens(self, now: Instant) -> float:
        """There are so many."""
        if now < self._at:
            # The clock was set back.
            self._set(self._tokens, now)
        earned = (now - self._at) * self.rate_mps / SECOND
        return min(self.depth, self._tokens + earned)

    def take(self, now: Instant) -> None:
        """One less; it may be owed."""
        # `tokens` and `_set` without the calls: every message does it for each of its flows.
        at = self._at
        tokens = self._tokens
        if now > at:
            tokens = min(self.depth, tokens + (now - at) * self.rate_mps / SECOND)
        tokens -= 1
        self._tokens, self._at = tokens, now
        if tokens >= 1:
            self._ready_ns = now
        else:
            self._ready_ns = now + ceil((1 - tokens) * SECOND / self.rate_mps)

    def ready_ns(self, now: Instant) -> Instant:
        """When there is one, or since when."""
        if now < self._at:
            self._set(self._tokens, now)
        return self._ready_ns

    def wait_ns(self, now: Instant) -> Duration:
        """Until there is one."""
        return max(0, self.ready_ns(now) - now)

    def _set(self, tokens: float, now: Instant) -> None:
        self._tokens, self._at = tokens, now
        lacking = 1 - tokens
        self._ready_ns = now + ceil(lacking * SECOND / self.rate_mps) if lacking > 0 else now
