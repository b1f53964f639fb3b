"""The order in which generation 0 is sent, of the blocks that a subscriber did not have before.

Others may be left out, so that nothing follows from their absence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import accumulate
from typing import Final

from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.wire.frames.cast.base import MANIFEST_BLOCK


class SendingOrder:
    """Gives each source symbol that is waited for a place.

    The work is bounded by the blocks that there were, and not by those that are announced.
    """

    def __init__(self, shape: ObjectShape, had: Collection[int]) -> None:
        self._shape: Final = shape
        # In the order of sending; and how many symbols come before each, and before the end.
        self._had: Final = tuple(sorted(map(_rank, had)))
        sizes = map(shape.symbols_of, sorted(had, key=_rank))
        self._skipped: Final = tuple(accumulate(sizes, initial=0))
        self.places: Final = shape.places - self._skipped[-1]

    def place(self, block: int, symbol: int) -> int | None:
        """The place of a source symbol; None if its block was there before."""
        index = bisect_left(self._had, _rank(block))
        if index < len(self._had) and self._had[index] == _rank(block):
            return None
        return self._shape.place(block, symbol) - self._skipped[index]


def _rank(block: int) -> int:
    """The manifest is sent first."""
    return -1 if block == MANIFEST_BLOCK else block
