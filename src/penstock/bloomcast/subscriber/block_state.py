"""Which symbols of one block have come.

Repair symbols are easier to forge than source symbols, and one that is false spoils the block. A
block that was *poisoned* takes no more of them: it waits for all its source symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from penstock.bloomcast.facts import Verdict
from penstock.kernel.interval_set import IntervalSet

# So many symbols more than K fail once in 256^17 blocks: nobody needs others.
EXCESS_MAX: Final = 16


class BlockState:
    """A block that is not complete yet."""

    __slots__ = (
        "_repair",
        "_source",
        "_sources_tried",
        "_tried",
        "extra",
        "is_decoding",
        "is_poisoned",
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
        # How many symbols the driver has to decode with, and how many of them are source symbols.
        self._tried = self._sources_tried = 0
        self.is_poisoned = False

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
                if self.is_poisoned:
                    continue
                if number not in repair and self.count < end + EXCESS_MAX:
                    repair[number] = None
                    new.append(number)
            elif not source[number]:
                source[number] = 1
                self.sources += 1
                new.append(number)
        return tuple(new)

    def cut(self, symbols: int) -> None:
        """It has no more source symbols than this."""
        del self._source[symbols:]
        self.sources = sum(self._source)

    def decoding(self) -> None:
        """The driver tries with what is there."""
        self.is_decoding = True
        self._tried, self._sources_tried = self.count, self.sources

    def undecoded(self) -> None:
        """So many symbols were not enough: one more, which may have come meanwhile."""
        self.is_decoding = False
        self.extra = self._tried - len(self._source) + 1

    def poisoned(self) -> None:
        """A symbol is false, and nobody knows which.

        If there were none but source symbols, nothing of the block is kept.
        """
        self.is_decoding = False
        if self._sources_tried == len(self._source):
            self._source[:] = bytes(len(self._source))
            self.sources = 0
        self.is_poisoned = True
        self._repair.clear()
        self.extra = 0

    def missing(self, runs_max: int) -> IntervalSet:
        """The first source symbols that are not there, so many runs of them at most."""
        return IntervalSet(islice(self._missing_runs(), runs_max))

    def _missing_runs(self) -> Iterator[tuple[int, int]]:
        source, stop = self._source, 0
        while (start := source.find(0, stop)) >= 0:
            stop = source.find(1, start)
            if stop < 0:
                stop = len(source)
            yield start, stop


def take_verdict(
    begun: dict[int, BlockState], complete: set[int], block: int, verdict: Verdict
) -> bool:
    """What came of decoding a block; False if it is not waited for."""
    state = begun.get(block)
    if state is None:
        return False
    if verdict is Verdict.COMPLETE:
        del begun[block]
        complete.add(block)
    elif verdict is Verdict.UNDECODED:
        state.undecoded()
    else:
        state.poisoned()
    return True
