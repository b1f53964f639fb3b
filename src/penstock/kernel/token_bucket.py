"""A token bucket: so many tokens a second, up to a depth.

Knows no clock, and not what a token stands for: a message, a request or a byte.

Tokens are recomputed from the last change, never accumulated, so that asking more often
changes nothing: only taking, depositing and another rate do. A clock that is set back
loses what was earned since the last change, and need not catch up to earn again.
"""

from __future__ import annotations

from math import ceil, inf

from penstock.kernel.instant import SECOND, Instant


class TokenBucket:
    """Earns `rate_per_s`, holds at most `depth`, and may be in debt."""

    __slots__ = ("_at", "_ready_at", "_tokens", "depth", "rate_per_s")

    def __init__(
        self, rate_per_s: float, *, depth: float, tokens: float, now: Instant | None = None
    ) -> None:
        """Only a bucket that is full may leave out since when it fills."""
        assert 0 < rate_per_s < inf, rate_per_s
        assert depth >= 1, depth
        assert tokens <= depth if now is not None else tokens == depth, (tokens, depth, now)
        self.rate_per_s = rate_per_s
        self.depth = depth
        # What there was at the last change; and when there is one, unless that is to be computed.
        self._tokens = tokens
        self._at: Instant = 0 if now is None else now
        self._ready_at: Instant | None = None

    @classmethod
    def of_one_second(cls, rate_per_s: float) -> TokenBucket:
        """A full one that holds what it earns in a second, but at least one token."""
        depth = max(1.0, rate_per_s)
        return cls(rate_per_s, depth=depth, tokens=depth)

    def available(self, now: Instant) -> float:
        """How many there are; negative if some are owed."""
        tokens = self._tokens
        if now > self._at:
            tokens += (now - self._at) * self.rate_per_s / SECOND
            return self.depth if tokens > self.depth else tokens
        if now < self._at:
            self._at, self._ready_at = now, None
        return tokens

    def take(self, now: Instant, amount: float = 1) -> None:
        """Takes them even if they are not there: what lacks is owed."""
        # `available` without the call: every message does this for each of its flows.
        tokens = self._tokens
        if now > self._at:
            tokens += (now - self._at) * self.rate_per_s / SECOND
            tokens = self.depth if tokens > self.depth else tokens
        self._tokens = tokens - amount
        self._at = now
        self._ready_at = None

    def try_take(self, now: Instant, amount: float = 1) -> bool:
        """Takes them if they are all there; a refusal changes nothing."""
        tokens = self._tokens
        if now > self._at:
            tokens += (now - self._at) * self.rate_per_s / SECOND
            tokens = self.depth if tokens > self.depth else tokens
        elif now < self._at:
            self._at, self._ready_at = now, None
        if tokens < amount:
            return False
        self._tokens = tokens - amount
        self._at = now
        self._ready_at = None
        return True

    def deposit(self, amount: float) -> None:
        """Adds tokens; what is beyond the depth is lost.

        It does not matter when: earning and depositing both only add, and are cut at the
        same depth.
        """
        assert amount >= 0, amount
        tokens = self._tokens + amount
        self._tokens = self.depth if tokens > self.depth else tokens
        self._ready_at = None

    def ready_at(self, now: Instant) -> Instant:
        """When there is one token; if there is one already, some instant that is not after `now`.

        Rounding may leave a billionth of it lacking then: who waits until it is ready
        calls `take`, not `try_take`.
        """
        ready_at = self._ready_at
        if ready_at is None or now < self._at:
            self._at = min(self._at, now)
            lacking = 1 - self._tokens
            ready_at = self._at
            if lacking > 0:
                ready_at += ceil(lacking * SECOND / self.rate_per_s)
            self._ready_at = ready_at
        return ready_at

    def set_rate(self, rate_per_s: float, now: Instant, *, depth: float) -> None:
        """Earns so much from now on; what is beyond the new depth is lost."""
        assert 0 < rate_per_s < inf, rate_per_s
        assert depth >= 1, depth
        tokens = self.available(now)
        self.rate_per_s = rate_per_s
        self.depth = depth
        self._tokens = depth if tokens > depth else tokens
        self._at = now
        self._ready_at = None
