"""Decodes by the code's law: counts symbols, and never sees a byte."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.coding.counting import CountedBlock
from penstock.bloomcast.facts import BlockDecodable, SymbolsArrived, TransferOpened
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.base import Item


class SimDecoder:
    """Of one node."""

    def __init__(self, seeds: Seeds) -> None:
        self._rng: Final = seeds.rng("excess")
        self._shapes: Final[dict[Item, ObjectShape]] = {}
        self._laws: Final[dict[tuple[Item, int], CountedBlock]] = {}
        # Source and repair symbols of blocks that are not decoded.
        self._counts: Final[dict[tuple[Item, int], list[int]]] = {}

    def on_opened(self, fact: TransferOpened) -> None:
        """How long blocks are."""
        self._shapes[fact.item] = ObjectShape.of(fact.first)

    def on_symbols(self, fact: SymbolsArrived) -> None:
        """These are new."""
        key = (fact.item, fact.block)
        counts = self._counts.get(key)
        symbols = self._shapes[fact.item].symbols_of(fact.block)
        if counts is None:
            counts = self._counts[key] = [0, 0]
            self._laws[key] = CountedBlock(symbols, self._rng)
        repairs = sum(number >= symbols for number in fact.numbers)
        counts[0] += len(fact.numbers) - repairs
        counts[1] += repairs

    def is_decodable(self, fact: BlockDecodable) -> bool:
        """Whether what is there is enough."""
        key = (fact.item, fact.block)
        source, repair = self._counts[key]
        return self._laws[key].is_decodable(source=source, repair=repair)
