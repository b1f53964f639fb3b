"""Filters stored by the value of one attribute that makes them candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from penstock.content.index.patterns import Patterns
from penstock.content.index.pieces import Equal, Piece, Text, Within
from penstock.content.index.pool import Bucket, HalfLines, Pool, Spans
from penstock.content.value import Key

# The probability that a string has a given character at a given position.
_CHARACTER_ODDS: Final = 0.3
# The cost of searching for one more kind of pattern, in candidates.
_LOOKING: Final = 30.0
# A value lies in some cell of every width in use.
_CELL_ODDS: Final = 2.0
# Nothing is known about the position of a half-line.
_LINE_ODDS: Final = 0.5


class Pivots:
    """Buckets by value, cell, pattern and bound, and one for filters that need only presence."""

    __slots__ = (
        "_cells",
        "_falling",
        "_has_lines",
        "_has_texts",
        "_pool",
        "_present",
        "_rising",
        "_texts",
        "equal",
        "has_more",
    )

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.equal: dict[Key, Bucket] = {}
        self._cells: dict[float, dict[float, Bucket]] = {}
        self._texts: Patterns[Bucket] = Patterns()
        self._rising = HalfLines(pool)
        self._falling = HalfLines(pool)
        self._present = Bucket(pool)
        self._note_more()

    def is_empty(self) -> bool:
        """Whether there are no filters here."""
        return not self.equal and not self.has_more

    def burden(self, piece: Piece) -> float:
        """The cost of this piece's bucket to messages: its filters times the odds of meeting it.

        The odds are estimated from the number of buckets of the same kind: the more values are
        stored, the less often each is met. A new kind of text pattern must be searched for in every
        string, which costs as much as many candidates.
        """
        if type(piece) is Equal:
            load = sum(_load(self.equal.get(key)) for key in piece.keys)
            return load / (1 + len(self.equal))
        if type(piece) is Text:
            odds = _CHARACTER_ODDS ** len(piece.pattern)
            burden = odds * _load(self._texts.get(piece.op, piece.pattern))
            return burden if self._texts.has_kind(piece.op, piece.pattern) else burden + _LOOKING
        if type(piece) is Within and piece.cells is not None:
            cells = self._cells.get(piece.cells.scale, {})
            return _CELL_ODDS * _load(cells.get(piece.cells.first)) / (1 + len(cells))
        if type(piece) is Within:
            return _LINE_ODDS * (1 + len(self._line_of(piece)[0]))
        return 1.0 + self._present.count

    def bucket_for(self, piece: Piece) -> Bucket | None:
        """The bucket for filters with this pivot, if there is exactly one and it exists."""
        if type(piece) is Equal and len(piece.keys) == 1:
            return self.equal.get(piece.keys[0])
        if type(piece) is Text:
            return self._texts.get(piece.op, piece.pattern)
        return None

    def file(self, piece: Piece, slot: int) -> int:
        """Makes `slot` a candidate for messages that satisfy the piece; returns its places."""
        places = 1
        if type(piece) is Within and piece.cells is None:
            line, bound = self._line_of(piece)
            line.add(bound, slot)
        else:
            places = 0
            for bucket in self._buckets(piece):
                bucket.add(slot)
                places += 1
        self._note_more()
        return places

    def withdraw(self, piece: Piece, is_dead: Callable[[int], bool]) -> list[int]:
        """Undoes `file`; returns the slots that were swept out of a place on the way."""
        if type(piece) is Within and piece.cells is None:
            swept = self._line_of(piece)[0].remove_one(is_dead)
        else:
            swept = [slot for b in list(self._buckets(piece)) for slot in b.remove_one(is_dead)]
        self.drop_empty(piece)
        return swept

    def collect_more(self, key: Key, spans: Spans) -> list[Bucket]:
        """Adds a value's candidates other than by equality; returns buckets with a level below."""
        below = []
        if self._present.count:
            spans += self._present.span
        if type(key) is str:
            if self._has_texts:
                for bucket in self._texts.found_in(key):
                    spans += bucket.span
                    if bucket.below is not None:
                        below.append(bucket)
        elif type(key) is float or type(key) is int:
            for scale, cells in self._cells.items():
                if (cell := cells.get(key * scale // 1)) is not None:
                    spans += cell.span
            if self._has_lines:
                self._rising.collect(key, spans)
                self._falling.collect(-key, spans)
        return below

    def drop_empty(self, piece: Piece) -> None:
        """Removes the buckets of this piece that are empty."""
        if type(piece) is Equal:
            for key in piece.keys:
                if self.equal[key].is_empty():
                    del self.equal[key]
        elif type(piece) is Text:
            if next(self._buckets(piece)).is_empty():
                self._texts.remove(piece.op, piece.pattern)
        elif type(piece) is Within and piece.cells is not None:
            cells = self._cells[piece.cells.scale]
            for cell in piece.cells:
                if cells[cell].is_empty():
                    del cells[cell]
            if not cells:
                del self._cells[piece.cells.scale]
        self._note_more()

    def _note_more(self) -> None:
        self._has_texts = len(self._texts) > 0
        self._has_lines = len(self._rising) > 0 or len(self._falling) > 0
        self.has_more = bool(
            self._cells or self._has_texts or self._has_lines or self._present.count
        )

    def _line_of(self, piece: Within) -> tuple[HalfLines, float]:
        if piece.low == -inf:
            return self._falling, -piece.high
        return self._rising, piece.low

    def _buckets(self, piece: Piece) -> Iterator[Bucket]:
        if type(piece) is Equal:
            for key in piece.keys:
                if (bucket := self.equal.get(key)) is None:
                    bucket = self.equal[key] = Bucket(self._pool)
                yield bucket
        elif type(piece) is Text:
            if (found := self._texts.get(piece.op, piece.pattern)) is None:
                found = Bucket(self._pool)
                self._texts.add(piece.op, piece.pattern, found)
            yield found
        elif type(piece) is Within and piece.cells is not None:
            cells = self._cells.setdefault(piece.cells.scale, {})
            for cell in piece.cells:
                if (bucket := cells.get(cell)) is None:
                    bucket = cells[cell] = Bucket(self._pool)
                yield bucket
        else:
            yield self._present


def _load(bucket: Bucket | None) -> int:
    """The candidates that a bucket adds; a crowded one stores new filters elsewhere."""
    return 1 if bucket is None or bucket.below is not None else 1 + bucket.count
