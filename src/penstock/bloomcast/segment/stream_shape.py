"""A stream, as FIRST announces it, and what is known of its latest blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.bloomcast.coding.block_layout import (
    SYMBOL_ALIGNMENT,
    SYMBOL_BYTES_MAX,
    block_symbols_max,
)
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, STREAM_BLOCKS_MAX
from penstock.wire.frames.cast.transfer import ClosedBlock, First


class StreamShape:
    """Knows blocks by what ENDs say of them."""

    def __init__(self, first: First) -> None:
        """Raises `PeerError` if what is announced cannot be."""
        symbol_bytes, symbols_max = first.symbol_bytes, first.block_symbols
        if not 0 < symbol_bytes <= SYMBOL_BYTES_MAX or symbol_bytes % SYMBOL_ALIGNMENT:
            raise PeerError(f"symbols of {symbol_bytes} bytes are announced")
        if not 0 < symbols_max <= block_symbols_max(symbol_bytes) or first.manifest_bytes:
            raise PeerError(f"a stream with blocks of {symbols_max} symbols is announced")
        self.symbols_max: Final = symbols_max
        self._closed: Final[BoundedDict[int, ClosedBlock]] = BoundedDict(2 * STREAM_BLOCKS_MAX)

    def learn(self, closed: Iterable[ClosedBlock]) -> list[ClosedBlock]:
        """Takes what END says; returns the blocks that are new."""
        new = []
        for each in closed:
            is_possible = each.block < MANIFEST_BLOCK and 0 < each.symbols <= self.symbols_max
            if is_possible and each.block not in self._closed:
                self._closed[each.block] = each
                new.append(each)
        return new

    def is_ended(self, block: int) -> bool:
        """Whether it is known how many symbols a block has."""
        return block in self._closed

    def symbols_of(self, block: int) -> int:
        """How many source symbols a block has; at most, if that is not known."""
        closed = self._closed.get(block)
        return self.symbols_max if closed is None else closed.symbols
