"""The pivots of all attributes, and the levels below crowded buckets.

A crowded bucket stores new filters one level down, under a second of their pieces: of the many
filters with `market = "NYSE"`, only those that also match the symbol become candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.content.index.pieces import Equal, Other, Piece, Text, Within
from penstock.content.index.pivots import Pivots
from penstock.content.index.pool import Bucket, Pool, Spans
from penstock.content.value import Key

# Visiting a level costs about as much as testing this many candidates.
CROWDED: Final = 256


class Level:
    """Filters, each under one of its pieces."""

    __slots__ = ("_anyhow", "_pivots", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._pivots: dict[str, Pivots] = {}
        self._anyhow = Bucket(pool)  # filters that require no attribute

    def is_empty(self) -> bool:
        """Whether there are no filters here or below."""
        return not self._pivots and not self._anyhow.count

    def collect(self, keys: Mapping[str, Key], spans: Spans) -> None:
        """Adds the candidates for a message with these values."""
        if self._anyhow.count:
            spans += self._anyhow.span
        # Iterates over the shorter one: filters of one index often name few attributes.
        if len(self._pivots) < len(keys):
            waiting = [(p, keys[name]) for name, p in self._pivots.items() if name in keys]
        else:
            known = self._pivots
            waiting = [(known[name], key) for name, key in keys.items() if name in known]
        for pivots, key in waiting:
            if (bucket := pivots.equal.get(key)) is not None:
                spans += bucket.span
                if bucket.below is not None:
                    bucket.below.collect(keys, spans)
            if pivots.has_more:
                for met in pivots.collect_more(key, spans):
                    met.below.collect(keys, spans)  # type: ignore[union-attr]

    def file(self, pieces: list[Piece], slot: int) -> tuple[list[Piece], int]:
        """Stores `slot`; returns the pieces it is under, from the top, and the number of places."""
        pivot = self._choose(pieces)
        if pivot is None:
            self._anyhow.add(slot)
            return [], 1
        pivots = self._pivots.get(pivot.attribute)
        if pivots is None:
            pivots = self._pivots[pivot.attribute] = Pivots(self._pool)
        bucket = pivots.bucket_for(pivot)
        if bucket is not None and bucket.count >= CROWDED:
            others = [piece for piece in pieces if piece is not pivot]
            if any(type(piece) in (Equal, Text, Within) for piece in others):
                if bucket.below is None:
                    bucket.below = Level(self._pool)
                path, places = bucket.below.file(others, slot)
                return [pivot, *path], places
        return [pivot], pivots.file(pivot, slot)

    def withdraw(self, path: list[Piece], is_dead: Callable[[int], bool]) -> list[int]:
        """Undoes `file`; returns the slots that were swept out of a place on the way."""
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
        choices = [piece for piece in pieces if type(piece) is not Other or piece.needs_value]
        if len(choices) < 2:
            return choices[0] if choices else None
        known = self._pivots.get
        return min(choices, key=lambda piece: known(piece.attribute, _NO_PIVOTS).burden(piece))


_NO_PIVOTS: Final = Pivots(Pool())
