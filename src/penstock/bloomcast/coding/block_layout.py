"""How an object is cut into blocks, and blocks into symbols.

    object   |---------- block 0 ----------|---------- block 1 ----------|--- block 2 ---|
    symbols  |  0  |  1  |  2  |  3  |  4  |  0  |  1  |  2  |  3  |  4  |  0  |  1  | 2 0|

Blocks have equally many symbols, but the last may have fewer; zeros pad its last symbol. An empty
object has no blocks. The manifest is cut in the same way, but it is always one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.frames.cast.base import BLOCK_SYMBOLS_MAX, MANIFEST_BLOCK

SYMBOL_BYTES: Final = 1_280
SYMBOL_BYTES_MAX: Final = 8_192
# The library aligns symbols to so many bytes.
SYMBOL_ALIGNMENT: Final = 8
# It cuts larger ones into sub-blocks, whose source symbols are not the bytes of the object.
BLOCK_BYTES_MAX: Final = 10_240_000


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Where the symbols of an object are in it."""

    length_bytes: int
    symbol_bytes: int
    # Of each block but the last, which may have fewer.
    block_symbols: int

    @property
    def symbols(self) -> int:
        """How many source symbols the object has."""
        return -(-self.length_bytes // self.symbol_bytes)

    @property
    def blocks(self) -> int:
        """How many blocks the object has."""
        return -(-self.symbols // self.block_symbols) if self.block_symbols else 0

    def symbols_of(self, block: int) -> int:
        """How many source symbols a block has."""
        return min(self.block_symbols, self.symbols - block * self.block_symbols)

    def offset_of(self, block: int) -> int:
        """Where in the object a block begins."""
        return block * self.block_symbols * self.symbol_bytes

    def bytes_of(self, block: int) -> int:
        """How many bytes of the object a block has, without padding."""
        return min(
            self.block_symbols * self.symbol_bytes, self.length_bytes - self.offset_of(block)
        )


def block_symbols_max(symbol_bytes: int) -> int:
    """How many source symbols of this size a block may have."""
    return min(BLOCK_SYMBOLS_MAX, BLOCK_BYTES_MAX // symbol_bytes)


def cut_into_blocks(
    length_bytes: int, *, symbol_bytes: int = SYMBOL_BYTES, block_symbols: int | None = None
) -> BlockLayout:
    """As few blocks of equal size as are possible; `block_symbols` bounds them further."""
    if not 0 < symbol_bytes <= SYMBOL_BYTES_MAX or symbol_bytes % SYMBOL_ALIGNMENT:
        raise UsageError(
            f"symbols of {symbol_bytes} bytes: name a multiple of {SYMBOL_ALIGNMENT}"
            f" up to {SYMBOL_BYTES_MAX:,}"
        )
    symbols_max = block_symbols_max(symbol_bytes)
    if block_symbols is not None:
        symbols_max = min(symbols_max, block_symbols)
    symbols = -(-length_bytes // symbol_bytes)
    blocks = -(-symbols // symbols_max)
    if blocks > MANIFEST_BLOCK:
        raise UsageError(f"{length_bytes:,} bytes are too many for one cast: cut them into parts")
    return BlockLayout(length_bytes, symbol_bytes, -(-symbols // blocks) if blocks else 0)


def manifest_layout(manifest_bytes: int, symbol_bytes: int) -> BlockLayout:
    """The one block of a manifest."""
    return BlockLayout(manifest_bytes, symbol_bytes, -(-manifest_bytes // symbol_bytes))


def announced_layout(
    length_bytes: int, *, symbol_bytes: int, blocks: int, block_symbols: int
) -> BlockLayout:
    """The layout that a peer has announced, which must agree with itself and with our bounds."""
    if not 0 < symbol_bytes <= SYMBOL_BYTES_MAX or symbol_bytes % SYMBOL_ALIGNMENT:
        raise PeerError(f"symbols of {symbol_bytes} bytes are announced")
    layout = BlockLayout(length_bytes, symbol_bytes, block_symbols)
    if (
        block_symbols > block_symbols_max(symbol_bytes)
        or (length_bytes > 0) != (block_symbols > 0)
        or layout.blocks != blocks
        or blocks > MANIFEST_BLOCK
    ):
        raise PeerError(
            f"{blocks} blocks of {block_symbols} symbols of {symbol_bytes} bytes"
            f" are announced for {length_bytes:,} bytes"
        )
    return layout
