"""Decodes by the code's law: counts symbols, and never sees a byte.

A block with a false symbol among its symbols does not match its hash; what is dropped of it then is
what the machine drops.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.coding.counting import CountedBlock
from penstock.bloomcast.facts import (
    BlockDecodable,
    BlockEnded,
    SymbolsArrived,
    TransferOpened,
    Verdict,
)
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.base import BLOCK_SYMBOLS_MAX, Item
from penstock.wire.frames.cast.membership import ObjectKind

_Key = tuple[Item, int]


class SimDecoder:
    """Of one node."""

    def __init__(self, seeds: Seeds) -> None:
        self._rng: Final = seeds.rng("excess")
        self._shapes: Final[dict[Item, ObjectShape]] = {}
        # Of a stream, source symbols of blocks that have ended.
        self._ended: Final[dict[_Key, int]] = {}
        self._laws: Final[dict[_Key, CountedBlock]] = {}
        # Source and repair symbols of blocks that are not decoded.
        self._counts: Final[dict[_Key, list[int]]] = {}
        # Symbols that an attacker has made, and those of them that are here.
        self.false: Final[set[tuple[Item, int, int]]] = set()
        self._tainted: Final[dict[_Key, set[int]]] = {}
        self._were_poisoned: Final[set[_Key]] = set()

    def on_opened(self, fact: TransferOpened) -> None:
        """How long blocks are; those of a stream are so long as their ends say."""
        if fact.first.kind is ObjectKind.FILE:
            self._shapes[fact.item] = ObjectShape.of(fact.first)
            return
        self._shapes.pop(fact.item, None)
        for key in [key for key in self._counts if key[0] == fact.item]:
            del self._counts[key]
            self._tainted.pop(key, None)
        for key in [key for key in self._ended if key[0] == fact.item]:
            del self._ended[key]

    def on_ended(self, fact: BlockEnded) -> None:
        """A block of a stream has so many symbols."""
        key = (fact.item, fact.block)
        self._ended[key] = fact.symbols
        self._laws[key] = CountedBlock(fact.symbols, self._rng)

    def _symbols_of(self, key: _Key) -> int:
        shape = self._shapes.get(key[0])
        if shape is not None:
            return shape.symbols_of(key[1])
        # Repair symbols come later.
        return self._ended.get(key, BLOCK_SYMBOLS_MAX)

    def on_symbols(self, fact: SymbolsArrived) -> None:
        """These are new."""
        key = (fact.item, fact.block)
        counts = self._counts.get(key)
        symbols = self._symbols_of(key)
        if counts is None:
            counts = self._counts[key] = [0, 0]
            if key[0] in self._shapes:
                self._laws[key] = CountedBlock(symbols, self._rng)
        repairs = sum(number >= symbols for number in fact.numbers)
        counts[0] += len(fact.numbers) - repairs
        counts[1] += repairs
        if self.false:
            false = [each for each in fact.numbers if (*key, each) in self.false]
            self._tainted.setdefault(key, set()).update(false)

    def verdict(self, fact: BlockDecodable) -> Verdict:
        """What comes of what is there."""
        key = (fact.item, fact.block)
        source, repair = counts = self._counts[key]
        symbols = self._symbols_of(key)
        if not self._laws[key].is_decodable(source=source, repair=repair):
            return Verdict.UNDECODED
        tainted = self._tainted.get(key, set())
        if source == symbols:
            # Decoding takes place without repair symbols.
            tainted = {number for number in tainted if number < symbols}
        if not tainted:
            return Verdict.COMPLETE
        if source == symbols:
            counts[0] = 0
            self._tainted.pop(key)
        else:
            self._tainted[key] = {number for number in tainted if number < symbols}
        counts[1] = 0
        self._were_poisoned.add(key)
        return Verdict.POISONED

    def forget(self) -> None:
        """What was not decoded is lost."""
        self._counts.clear()
        self._tainted.clear()
        self._were_poisoned.clear()
