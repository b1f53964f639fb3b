"""How fast a doubt horizon moves: stream time by time, smoothed. One keeps up with the pubend.

Sampled once a second. Between two events the horizon stands still, so samples are taken when the
next event comes, and need no timer.
"""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.tick import seconds_between
from penstock.kernel.instant import SECOND, Instant

PERIOD_NS: Final = 1 * SECOND
# The weight of one sample: alpha of the paper.
WEIGHT: Final = 0.1


class Throughput:
    """Of one reader."""

    def __init__(self, doubt: int, *, now: Instant) -> None:
        self.rate = 1.0
        # The last sample; None while none are taken.
        self._sampled_at: Instant | None = now
        self._sampled_doubt = doubt

    def observe(self, doubt: int, *, now: Instant) -> None:
        """The horizon has been there since the last event: call it before it moves on."""
        at = self._sampled_at
        if at is None or now < at + PERIOD_NS:
            return
        samples = (now - at) // PERIOD_NS
        self.rate += WEIGHT * (seconds_between(self._sampled_doubt, doubt) - self.rate)
        # It has stood still in all others.
        self.rate *= (1 - WEIGHT) ** (samples - 1)
        self._sampled_at, self._sampled_doubt = at + samples * PERIOD_NS, doubt

    def pause(self) -> None:
        """Nothing can come: that it stands still says nothing of what the network takes."""
        self._sampled_at = None

    def resume(self, doubt: int, *, now: Instant) -> None:
        """Something can come again."""
        self._sampled_at, self._sampled_doubt = now, doubt

    def restart(self, rate: float) -> None:
        """What was measured before says nothing of what begins now."""
        self.rate = rate
