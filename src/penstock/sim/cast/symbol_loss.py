"""Which symbols a link loses: independent of how they are grouped into trains.

Draws how far the next loss is, not each symbol: a run with trains loses what one without would.
"""

from __future__ import annotations

from math import inf, log1p
from typing import TYPE_CHECKING, Final

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from random import Random


class SymbolLoss:
    """Independent losses with probability `share`."""

    __slots__ = ("_left", "_log_kept", "_rng")

    def __init__(self, share: float, rng: Random) -> None:
        if not 0 <= share < 1:
            raise UsageError(f"a share of losses is at least 0 and less than 1, not {share}")
        self._rng: Final = rng
        self._log_kept: Final = log1p(-share)
        # How many pass before the next is lost.
        self._left: float = self._draw()

    def _draw(self) -> float:
        if not self._log_kept:
            return inf
        # The logarithm of a number in (0, 1].
        return log1p(-self._rng.random()) // self._log_kept

    def passes(self) -> bool:
        """Whether the next one arrives."""
        if self._left >= 1:
            self._left -= 1
            return True
        self._left = self._draw()
        return False

    def survivors(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """Those of a train that arrive."""
        if self._left >= len(numbers):
            self._left -= len(numbers)
            return numbers
        return tuple([number for number in numbers if self.passes()])
