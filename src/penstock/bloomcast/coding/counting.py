"""The law of the code, for simulations: it counts symbols, and draws whether they are enough.

K+h distinct symbols of a block of K decode it with probability 1 - 256^-(h+1); all its K source
symbols always do. How many symbols a receiver needs beyond K is drawn once a block: more symbols
never make it worse, and asking twice changes nothing.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.coding.base import RandomSource

_FAILURE: Final = 1 / 256


class CountedBlock:
    """One block at one receiver."""

    __slots__ = ("_block_symbols", "_enough")

    def __init__(self, block_symbols: int, random: RandomSource) -> None:
        self._block_symbols: Final = block_symbols
        self._enough: Final = block_symbols + _excess(random.random())

    def is_decodable(self, *, source: int, repair: int) -> bool:
        """Whether so many distinct source and repair symbols are enough."""
        return source >= self._block_symbols or source + repair >= self._enough


def _excess(draw: float) -> int:
    """How many symbols beyond K it takes: more than h with probability 256^-(h+1)."""
    excess, failure = 0, _FAILURE
    while draw < failure:
        excess += 1
        failure *= _FAILURE
    return excess
