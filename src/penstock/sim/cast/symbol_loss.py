"""Which symbols a link loses: independent of how they are grouped into trains.

Draws how far the next loss is, not each symbol: a run with trains loses what one without would.
Losses come one by one, or in bursts of random length. What ails a link for so many packets of data
does so for milliseconds: a burst is over, too, when nothing has been sent for a while.
"""

from __future__ import annotations

from math import inf, log1p
from typing import TYPE_CHECKING, Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Duration, Instant

if TYPE_CHECKING:
    from random import Random

# Longer than between two trains of data.
_IDLE_NS: Final[Duration] = 100 * MILLISECOND


class SymbolLoss:
    """Loses a share of all symbols; `burst` of them in a row, on average.

    With bursts of one, losses are independent of one another.
    """

    __slots__ = ("_burst", "_doomed", "_left", "_log_kept", "_log_more", "_rng", "_sent_at")

    def __init__(self, share: float, rng: Random, *, burst: float = 1.0) -> None:
        if not 0 <= share < 1:
            raise UsageError(f"a share of losses is at least 0 and less than 1, not {share}")
        if burst < 1:
            raise UsageError(f"a burst has at least one loss, not {burst:g}")
        self._rng: Final = rng
        self._burst: Final = burst
        # The chance that a burst begins after any symbol that is not in one.
        begins = share / (share + burst * (1 - share))
        self._log_kept: Final = log1p(-begins)
        # The chance that a burst ends after any symbol that is in it.
        self._log_more: Final = log1p(-1 / burst) if burst > 1 else -inf
        # How many pass before the next is lost, and how many are lost after it.
        self._left: float = self._draw(self._log_kept)
        self._doomed: float = 0
        self._sent_at: Instant = 0

    def _draw(self, log_chance: float) -> float:
        """So many in a row, each with a chance of which this is the logarithm."""
        if not log_chance:
            return inf
        # The logarithm of a number in (0, 1].
        return log1p(-self._rng.random()) // log_chance

    def passes(self, now: Instant) -> bool:
        """Whether the next one arrives."""
        self._go_on(now)
        return self._passes()

    def survivors(self, numbers: tuple[int, ...], now: Instant) -> tuple[int, ...]:
        """Those of a train that arrive."""
        self._go_on(now)
        if self._left >= len(numbers) and not self._doomed:
            self._left -= len(numbers)
            return numbers
        return tuple([number for number in numbers if self._passes()])

    def _go_on(self, now: Instant) -> None:
        if now - self._sent_at > _IDLE_NS:
            self._doomed = 0
        self._sent_at = now

    def _passes(self) -> bool:
        if self._doomed >= 1:
            self._doomed -= 1
            return False
        if self._left >= 1:
            self._left -= 1
            return True
        self._left = self._draw(self._log_kept)
        if self._burst > 1:
            self._doomed = self._draw(self._log_more)
        return False
