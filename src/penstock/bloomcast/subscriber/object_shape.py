"""An object and its manifest, as FIRST announces them: blocks, and the order of sending."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.bloomcast.coding.block_layout import BlockLayout, announced_layout, manifest_layout
from penstock.wire.frames.cast.base import MANIFEST_BLOCK
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.transfer import First


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The manifest is sent in front of the blocks of the object."""

    layout: BlockLayout
    manifest: BlockLayout

    @staticmethod
    def of(first: First) -> ObjectShape:
        """Raises `PeerError` if what is announced cannot be."""
        layout = announced_layout(
            first.length_bytes,
            symbol_bytes=first.symbol_bytes,
            blocks=first.blocks,
            block_symbols=first.block_symbols,
        )
        return ObjectShape(layout, manifest_layout(first.manifest_bytes, first.symbol_bytes))

    @property
    def block_count(self) -> int:
        """All blocks, the manifest among them."""
        return self.layout.blocks + self.manifest.blocks

    @property
    def places(self) -> int:
        """All source symbols."""
        return self.manifest.symbols + self.layout.symbols

    def blocks(self) -> Iterator[int]:
        """The numbers of all blocks, in the order of sending."""
        if self.manifest.symbols:
            yield MANIFEST_BLOCK
        yield from range(self.layout.blocks)

    def symbols_of(self, block: int) -> int:
        """Source symbols of a block; 0 if there is no such block."""
        if block == MANIFEST_BLOCK:
            return self.manifest.symbols
        return self.layout.symbols_of(block) if block < self.layout.blocks else 0

    def place(self, block: int, symbol: int) -> int:
        """The place of a source symbol in the order of sending."""
        if block == MANIFEST_BLOCK:
            return symbol
        return self.manifest.symbols + block * self.layout.block_symbols + symbol


def is_same_object(one: First, other: First) -> bool:
    """Whether the same is sent, and cut in the same way; of a stream, whether it is one."""
    if one.kind is other.kind is ObjectKind.STREAM:
        return True
    return _what_is_sent(one) == _what_is_sent(other)


def _what_is_sent(first: First) -> tuple[object, ...]:
    return (
        first.kind,
        first.object_id,
        first.length_bytes,
        first.symbol_bytes,
        first.blocks,
        first.block_symbols,
        first.manifest_bytes,
    )
