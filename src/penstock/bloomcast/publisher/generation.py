"""The trains of one generation, in order: first the object itself, later what was lost of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from penstock.bloomcast.segment.segment_head import SegmentHead


class Train(NamedTuple):
    """Symbols to send together; `ends` is None for all."""

    block: int
    numbers: tuple[int, ...]
    is_repair: bool
    ends: tuple[int, ...] | None


class Generation(Protocol):
    """What a generation sends."""

    def next_train(self, symbols_max: int) -> Train | None:
        """The next train; None when there is none for now."""


class SourceSymbols:
    """Generation 0: every block, symbol by symbol, to all but those who have it already."""

    def __init__(self, blocks: Mapping[int, int], head: SegmentHead) -> None:
        self._head: Final = head
        self._blocks: Final[Iterator[tuple[int, int]]] = iter(blocks.items())
        # The block at hand, how many symbols it has, and which of them is the next.
        self._block = self._symbols = self._next = 0

    def next_train(self, symbols_max: int) -> Train | None:
        """The next train."""
        while True:
            ends = self._head.source_ends(self._block)
            if self._next < self._symbols and ends != ():
                break
            following = next(self._blocks, None)
            if following is None:
                return None
            (self._block, self._symbols), self._next = following, 0
        start, self._next = self._next, min(self._next + symbols_max, self._symbols)
        return Train(self._block, tuple(range(start, self._next)), False, ends)


class FreshSymbols:
    """The repair symbols that no generation has sent."""

    def __init__(self, blocks: Mapping[int, int]) -> None:
        self._next: Final = dict(blocks)

    def take(self, block: int, count: int) -> tuple[int, ...]:
        """So many of a block."""
        start = self._next[block]
        self._next[block] = start + count
        return tuple(range(start, start + count))


class Repairs:
    """A later generation: for each block so many repair symbols as its ends need."""

    def __init__(
        self,
        head: SegmentHead,
        fresh: FreshSymbols,
        *,
        generation: int,
    ) -> None:
        self._head: Final = head
        self._fresh: Final = fresh
        self._generation: Final = generation
        self._sent: Final[dict[int, int]] = {}
        # Cut, and not sent yet.
        self._ready: Final[list[Train]] = []
        self._blocks: Final[list[int]] = []
        self.look_again()

    def look_again(self) -> None:
        """The needs have changed: a late report."""
        needed = self._head.rounds.most_needed(self._generation)
        self._blocks[:] = reversed(needed)

    def next_train(self, symbols_max: int) -> Train | None:
        """The next train."""
        while not self._ready and self._blocks:
            block = self._blocks[-1]
            sent = self._sent.get(block, 0)
            target = self._head.target(self._generation, block)
            if sent >= target:
                self._blocks.pop()
            else:
                self._cut(block, sent, min(sent + symbols_max, target))
        return self._ready.pop() if self._ready else None

    def _cut(self, block: int, start: int, stop: int) -> None:
        """Fewer ends need the later ones."""
        self._sent[block] = stop
        numbers = self._fresh.take(block, stop - start)
        pieces = self._head.split(self._generation, block, start, stop)
        for piece in reversed(pieces):
            part = numbers[piece.start - start : piece.stop - start]
            self._ready.append(Train(block, part, True, piece.ends))
