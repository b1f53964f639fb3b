"""The trains of one generation, in order: first the object itself, later what was lost of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from penstock.bloomcast.segment.question import Question
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.transfer import RepairChoice


class Train(NamedTuple):
    """Symbols to send together; `ends` is None for all."""

    generation: int
    block: int
    numbers: tuple[int, ...]
    ends: tuple[int, ...] | None

    @property
    def is_repair(self) -> bool:
        """Whether it is sent again, or in place of something else."""
        return self.generation > 0


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
        return Train(0, self._block, tuple(range(start, self._next)), ends)


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
    """A later generation: of each block what its ends need, exactly or by code."""

    def __init__(
        self,
        question: Question,
        fresh: FreshSymbols,
        *,
        blocks: Mapping[int, int],
        choice: RepairChoice,
        generation: int,
    ) -> None:
        self._question: Final = question
        self._fresh: Final = fresh
        self._symbols: Final = blocks
        self._choice: Final = choice
        self._generation: Final = generation
        # By block: how many repair symbols were sent, and which of its own.
        self._sent: Final[dict[int, int]] = {}
        self._sent_exactly: Final[dict[int, IntervalSet]] = {}
        # Cut, and not sent yet.
        self._ready: Final[list[Train]] = []
        self._blocks: Final[list[int]] = []
        self.look_again()

    def look_again(self) -> None:
        """The needs have changed: a late report."""
        self._blocks[:] = reversed(self._question.rounds.blocks(self._generation))

    def next_train(self, symbols_max: int) -> Train | None:
        """The next train."""
        while not self._ready and self._blocks:
            block = self._blocks[-1]
            if not self._cut(block, symbols_max):
                self._blocks.pop()
        return self._ready.pop() if self._ready else None

    def _cut(self, block: int, symbols_max: int) -> bool:
        """Makes trains of what is to be sent next of a block; False if that is nothing."""
        exact = self._question.targets.exact(
            self._generation, block, self._symbols[block], self._choice
        )
        numbers = self._unsent(block, exact.ranges, symbols_max)
        if numbers:
            self._cut_exactly(block, numbers)
            return True
        sent = self._sent.get(block, 0)
        target = 0 if exact.is_all else self._question.targets.target(self._generation, block)
        if sent >= target:
            return False
        self._cut_coded(block, sent, min(sent + symbols_max, target))
        return True

    def _unsent(self, block: int, ranges: IntervalSet, symbols_max: int) -> list[int]:
        """No symbol of a block goes twice in a generation: it would be sealed like the first."""
        sent = self._sent_exactly.setdefault(block, IntervalSet())
        found: list[int] = []
        for start, stop in ranges:
            for begin, end in sent.missing(start, stop):
                found += range(begin, min(end, begin + symbols_max - len(found)))
                if len(found) == symbols_max:
                    return found
        return found

    def _cut_exactly(self, block: int, numbers: list[int]) -> None:
        """Only who lacks them is sent them."""
        for number in numbers:
            self._sent_exactly[block].add(number, number + 1)
        pieces = self._question.targets.split_exact(self._generation, block, numbers)
        for piece in reversed(pieces):
            self._ready.append(Train(self._generation, block, piece.numbers, piece.ends))

    def _cut_coded(self, block: int, start: int, stop: int) -> None:
        """Fewer ends need the later ones."""
        self._sent[block] = stop
        numbers = self._fresh.take(block, stop - start)
        pieces = self._question.targets.split(self._generation, block, start, stop)
        for piece in reversed(pieces):
            part = numbers[piece.start - start : piece.stop - start]
            self._ready.append(Train(self._generation, block, part, piece.ends))
