"""Which symbols of one block have come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# So many symbols more than K fail once in 256^17 blocks: nobody needs others.
EXCESS_MAX: Final = 16


class BlockState:
    """A block that is not complete yet."""

    __slots__ = (
        "_repair",
        "_source",
        "_tried",
        "_was_poisoned",
        "extra",
        "is_decoding",
        "sources",
    )

    def __init__(self, symbols: int) -> None:
        self._source: Final = bytearray(symbols)
        # How many of them are there.
        self.sources = 0
        self._repair: Final[dict[int, None]] = {}
        # Symbols beyond the number of source symbols that it takes, as far as is known.
        self.extra = 0
        # The driver is at it.
        self.is_decoding = False
        # How many symbols the driver has to decode with.
        self._tried = 0
        self._was_poisoned = False

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
                if number not in repair and self.count < end + EXCESS_MAX:
                    repair[number] = None
                    new.append(number)
            elif not source[number]:
                source[number] = 1
                self.sources += 1
                new.append(number)
        return tuple(new)

    def decoding(self) -> None:
        """The driver tries with what is there."""
        self.is_decoding = True
        self._tried = self.count

    def undecoded(self) -> None:
        """So many symbols were not enough: one more, which may have come meanwhile."""
        self.is_decoding = False
        self.extra = self._tried - len(self._source) + 1

    def poisoned(self) -> None:
        """A symbol is false, and nobody knows which: a repair symbol, which are easier to forge.

        If there were none, or if it was not one of them, nothing of the block is kept.
        """
        self.is_decoding = False
        if self._was_poisoned or self.sources == len(self._source):
            self._source[:] = bytes(len(self._source))
            self.sources = 0
        self._was_poisoned = True
        self._repair.clear()
        self.extra = 0
