"""Which symbols of one block have come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class BlockState:
    """A block that is not complete yet."""

    __slots__ = ("_repair", "_source", "extra", "is_decoding", "sources")

    def __init__(self, symbols: int) -> None:
        self._source: Final = bytearray(symbols)
        # How many of them are there.
        self.sources = 0
        self._repair: Final[dict[int, None]] = {}
        # Symbols beyond the number of source symbols that it takes, as far as is known.
        self.extra = 0
        # The driver is at it.
        self.is_decoding = False

    @property
    def symbols(self) -> int:
        """The number of source symbols."""
        return len(self._source)

    @property
    def count(self) -> int:
        """Distinct symbols that are there."""
        return self.sources + len(self._repair)

    @property
    def need(self) -> int:
        """How many more it takes; 0 when it can be decoded."""
        if self.sources == len(self._source):
            return 0
        return max(0, len(self._source) + self.extra - self.count)

    def add(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Takes symbols; returns those that are new."""
        source, repair, end = self._source, self._repair, len(self._source)
        new = []
        for number in numbers:
            if number >= end:
                if number not in repair:
                    repair[number] = None
                    new.append(number)
            elif not source[number]:
                source[number] = 1
                self.sources += 1
                new.append(number)
        return tuple(new)

    def undecoded(self) -> None:
        """So many symbols were not enough: one more."""
        self.is_decoding = False
        self.extra = self.count - len(self._source) + 1

    def drop_repairs(self) -> None:
        """One of them is false, and nobody knows which."""
        self.is_decoding = False
        self._repair.clear()
        self.extra = 0
