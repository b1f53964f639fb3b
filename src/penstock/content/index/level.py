"""Pivots of all attributes, and the levels below crowded ones.

A bucket that is crowded sends newcomers one level down, where they wait under a
second of their pieces: of the many who ask for `market = "NYSE"`, only those
who also ask for this symbol become candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.content.index.bucket import Bucket, Candidates
from penstock.content.index.pieces import Equal, Other, Piece, Text, Within
from penstock.content.index.pivots import Pivots
from penstock.content.value import Key

# A visit to a level costs about as much as testing this many candidates.
CROWDED: Final = 16


class Level:
    """Filters under one of their pieces each."""

    __slots__ = ("_anyhow", "_pivots")

    def __init__(self) -> None:
        self._pivots: dict[str, Pivots] = {}
        self._anyhow = Bucket()  # filters that need no attribute to be there

    def is_empty(self) -> bool:
        """Whether nothing waits here or below."""
        return not self._pivots and not self._anyhow.slots

    def collect(self, keys: Mapping[str, Key], found: list[Candidates]) -> None:
        """Adds the candidates that a message with these values makes."""
        if self._anyhow.slots:
            found.append(self._anyhow)
        all_pivots = self._pivots
        for name, key in keys.items():
            if (pivots := all_pivots.get(name)) is None:
                continue
            if (bucket := pivots.equal.get(key)) is not None:
                found.append(bucket)
                if bucket.below is not None:
                    bucket.below.collect(keys, found)
            if pivots.has_more:
                upto = len(found)
                pivots.collect_more(key, found)
                for candidates in found[upto:]:
                    if candidates.below is not None:
                        candidates.below.collect(keys, found)

    def file(self, pieces: list[Piece], slot: int) -> tuple[list[Piece], int]:
        """Lets `slot` wait; under which pieces, from the top, and in how many places."""
        pivot = self._choose(pieces)
        if pivot is None:
            self._anyhow.add(slot)
            return [], 1
        pivots = self._pivots.get(pivot.attribute)
        if pivots is None:
            pivots = self._pivots[pivot.attribute] = Pivots()
        bucket = pivots.bucket_for(pivot)
        if bucket is not None and len(bucket.slots) >= CROWDED:
            others = [piece for piece in pieces if piece is not pivot]
            if any(type(piece) in (Equal, Text, Within) for piece in others):
                if bucket.below is None:
                    bucket.below = Level()
                path, places = bucket.below.file(others, slot)
                return [pivot, *path], places
        return [pivot], pivots.file(pivot, slot)

    def withdraw(self, path: list[Piece], is_dead: Callable[[int], bool]) -> list[int]:
        """Undoes `file`; the slots that left one of their places by the way."""
        if not path:
            return self._anyhow.remove_one(is_dead)
        pivot, *rest = path
        pivots = self._pivots[pivot.attribute]
        if rest:
            bucket = pivots.bucket_for(pivot)
            assert bucket is not None
            assert bucket.below is not None
            swept = bucket.below.withdraw(rest, is_dead)
            if bucket.below.is_empty():
                bucket.below = None
            pivots.drop_empty(pivot)
        else:
            swept = pivots.withdraw(pivot, is_dead)
        if pivots.is_empty():
            del self._pivots[pivot.attribute]
        return swept

    def _choose(self, pieces: list[Piece]) -> Piece | None:
        chosen, least = None, 0.0
        for piece in pieces:
            if type(piece) is Other and not piece.needs_value:
                continue
            pivots = self._pivots.get(piece.attribute)
            burden = (pivots or _NO_PIVOTS).burden(piece)
            if chosen is None or burden < least:
                chosen, least = piece, burden
        return chosen


_NO_PIVOTS: Final = Pivots()
