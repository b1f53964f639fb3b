"""How much may be sent: a bucket of tokens, filled at a steady rate."""

from __future__ import annotations

from typing import Final, Protocol

from penstock.kernel.instant import SECOND, Instant
from penstock.wire.frames.data import Data


class Admission(Protocol):
    """Congestion control, asked before anything is sent that no application published."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may leave now."""

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message, as it was sent or came, may leave once more."""


class Unlimited:
    """Where there is no congestion control."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Always."""
        del publisher, size_bytes, now
        return True

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Always."""
        del original, now
        return True


class Budget:
    """So many a second, of which a second's worth may come at once."""

    __slots__ = ("_rate", "_since", "_tokens", "refused")

    def __init__(self, rate: float) -> None:
        self._rate: Final = rate
        self._tokens = max(1.0, rate)
        self._since: Instant | None = None
        self.refused = 0

    def take(self, now: Instant) -> bool:
        """Whether one more may go."""
        earned = 0 if self._since is None else (now - self._since) * self._rate / SECOND
        self._tokens = min(max(1.0, self._rate), self._tokens + max(0, earned))
        # Also if the clock was set back: it need not catch up before anything is earned again.
        self._since = now
        if self._tokens < 1:
            self.refused += 1
            return False
        self._tokens -= 1
        return True
