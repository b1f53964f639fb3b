"""A token bucket: earns tokens at a rate, up to a depth.

Knows no clock, and not what a token stands for: a message, a request or a byte.

Tokens are recomputed from the last change, never accumulated, so that reading more often changes
nothing: only taking, depositing and a new rate do. When the clock is set back, the tokens earned
since the last change are lost, but earning resumes at once.
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
        """`now` is when filling starts; only a full bucket may leave it out."""
        assert 0 < rate_per_s < inf, rate_per_s
        assert depth >= 1, depth
        assert tokens <= depth if now is not None else tokens == depth, (tokens, depth, now)
        self.rate_per_s = rate_per_s
        self.depth = depth
        # Tokens at the last change, and the time of the next whole token, None if not computed yet.
        self._tokens = tokens
        self._at: Instant = 0 if now is None else now
        self._ready_at: Instant | None = None

    @classmethod
    def of_one_second(cls, rate_per_s: float) -> TokenBucket:
        """A full one that holds what it earns in a second, but at least one token."""
        depth = max(1.0, rate_per_s)
        return cls(rate_per_s, depth=depth, tokens=depth)

    def available(self, now: Instant) -> float:
        """The number of tokens; negative in debt."""
        tokens = self._tokens
        if now > self._at:
            tokens += (now - self._at) * self.rate_per_s / SECOND
            return self.depth if tokens > self.depth else tokens
        if now < self._at:
            self._at, self._ready_at = now, None
        return tokens

    def take(self, now: Instant, amount: float = 1) -> None:
        """Takes tokens even if there are too few: the rest is a debt."""
        # Inlines `available`: this runs for each flow of every message.
        tokens = self._tokens
        if now > self._at:
            tokens += (now - self._at) * self.rate_per_s / SECOND
            tokens = self.depth if tokens > self.depth else tokens
        self._tokens = tokens - amount
        self._at = now
        self._ready_at = None

    def try_take(self, now: Instant, amount: float = 1) -> bool:
        """Takes tokens if there are enough; a refusal changes nothing."""
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
        """Adds tokens; those beyond the depth are lost.

        The time does not matter: earning and depositing both only add, up to the same depth.
        """
        assert amount >= 0, amount
        tokens = self._tokens + amount
        self._tokens = self.depth if tokens > self.depth else tokens
        self._ready_at = None

    def ready_at(self, now: Instant) -> Instant:
        """The time at which there is a token; if there is one now, some instant not after `now`.

        Rounding may leave a billionth of a token missing then: a caller that waits for this instant
        uses `take`, not `try_take`.
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
        """Changes the rate and the depth from now on; tokens beyond the new depth are lost."""
        assert 0 < rate_per_s < inf, rate_per_s
        assert depth >= 1, depth
        tokens = self.available(now)
        self.rate_per_s = rate_per_s
        self.depth = depth
        self._tokens = depth if tokens > depth else tokens
        self._at = now
        self._ready_at = None
