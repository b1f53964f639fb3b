"""Losses of generation 0, by gaps in (block, symbol).

Blocks that are missing as a whole are not counted: those that nobody needs are not sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.wire.frames.cast.base import MANIFEST_BLOCK

# As in TCP: what so many later ones have overtaken is not late, but lost.
_LATER_ARRIVALS: Final = 3


class SymbolGaps:
    """Of one subscriber, from the first symbol that it hears."""

    __slots__ = ("_later", "_next", "_order", "_pending", "_symbols")

    def __init__(self) -> None:
        # The block of the last symbol, by its place in the order of sending; what it has, and
        # which symbol comes next.
        self._order: int | None = None
        self._symbols = 0
        self._next = 0
        # Symbols that were skipped, and how many have come since.
        self._pending = 0
        self._later = 0

    def arrived(self, block: int, symbols: int, numbers: Sequence[int]) -> int:
        """Symbols of a block that has so many; returns how many others are lost by now."""
        order = -1 if block == MANIFEST_BLOCK else block
        first, stop = numbers[0], numbers[-1] + 1
        if self._order is None:
            skipped = 0
        elif order == self._order and stop > self._next:
            skipped = max(0, first - self._next)
        elif order > self._order:
            skipped = self._symbols - self._next + first
        else:
            # Late, or sent again.
            self._pending = max(0, self._pending - len(numbers))
            return 0
        skipped += stop - first - len(numbers)
        self._order, self._symbols, self._next = order, symbols, stop
        if not self._pending:
            self._later = 0
        self._pending += skipped
        self._later += len(numbers)
        if not self._pending or self._later < _LATER_ARRIVALS:
            return 0
        lost, self._pending = self._pending, 0
        return lost
