"""The order in which generation 0 is sent, of the blocks that a subscriber did not have before.

Others may be left out, so that nothing follows from their absence.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from penstock.bloomcast.subscriber.object_shape import ObjectShape


class SendingOrder:
    """Gives each source symbol that is waited for a place."""

    def __init__(self, shape: ObjectShape, had: Collection[int]) -> None:
        self._shape: Final = shape
        # By block, the place of its first symbol; None: every block is waited for.
        self._starts: Final[dict[int, int] | None] = {} if had else None
        self.places = shape.places
        if self._starts is not None:
            self.places = 0
            for block in shape.blocks():
                if block not in had:
                    self._starts[block] = self.places
                    self.places += shape.symbols_of(block)

    def place(self, block: int, symbol: int) -> int | None:
        """The place of a source symbol; None if its block was there before."""
        if self._starts is None:
            return self._shape.place(block, symbol)
        start = self._starts.get(block)
        return None if start is None else start + symbol
