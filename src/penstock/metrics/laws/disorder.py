"""How far from order, batch by batch: `violations` for streams that are too long to keep.

Of each pair there is kept the highest number, the last one, and as many of the
last ones as a late row is held against: an inversion with a row further back
than that is not counted. Pairs are codes from 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.laws.violations import Flags, Ints, by_pair, highest_so_far, unsorted

# Numbers on the wire have 32 bits, so that a row remembered takes four bytes.
_REMEMBERED: Final = 64
_LOWEST: Final = -1


class Marks(NamedTuple):
    """Of each row: whether it is late, whether it descends, and from how many it is inverted."""

    late: Flags
    descents: Flags
    inversions: Ints


class Disorder:
    """Sees rows in order of delivery."""

    __slots__ = ("_count", "_highest", "_last", "_recent", "_remembered")

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered: Final = remembered
        self._highest = np.empty(0, np.int64)
        self._last = np.empty(0, np.int64)
        self._count = np.empty(0, np.int64)
        # The last rows of each pair; row i of a pair stands at i modulo what is remembered.
        self._recent: NDArray[np.uint32] = np.empty((0, remembered), np.uint32)

    def feed(self, pairs: Ints, seqs: Ints) -> Marks:
        """Takes the next rows."""
        if not len(pairs):
            return Marks(np.zeros(0, np.bool_), np.zeros(0, np.bool_), np.zeros(0, np.int64))
        self._make_room(int(pairs.max()) + 1)
        order, pair, seq = by_pair(pairs, seqs)
        begins = np.append(True, pair[1:] != pair[:-1])
        starts = np.flatnonzero(begins)
        # Where each row's pair begins in this batch, and how many of it came before the row.
        start = starts[np.cumsum(begins) - 1]
        rank = np.arange(len(pair)) - start
        highest = np.maximum(highest_so_far(pair, seq), self._highest[pair])
        late = highest > seq
        before = np.append(_LOWEST, seq[:-1])
        before[starts] = self._last[pair[starts]]
        inversions = np.zeros(len(seq), np.int64)
        rows = np.flatnonzero(late)
        if rows.size:
            inversions[rows] = self._above(pair[rows], seq, rows, start[rows])
        ends = np.append(starts[1:], len(pair)) - 1
        self._remember(pair, seq, rank, ends, highest)
        return Marks(
            unsorted(late, order), unsorted(before > seq, order), unsorted(inversions, order)
        )

    def _above(self, pair: Ints, seq: Ints, rows: Ints, start: Ints) -> Ints:
        """How many of the last rows of its pair before each late row have a higher number."""
        back = np.arange(1, self._remembered + 1)
        number = seq[rows][:, np.newaxis]
        # In this batch, and what is left of the window in those before it.
        at = rows[:, np.newaxis] - back
        is_inside = at >= start[:, np.newaxis]
        inside = (seq[np.maximum(at, 0)] > number) & is_inside
        older = self._count[pair][:, np.newaxis] - (back - (rows - start)[:, np.newaxis])
        is_older = ~is_inside & (older >= 0)
        recent = self._recent[pair[:, np.newaxis], older % self._remembered]
        outside = (recent > number) & is_older
        return np.asarray(inside.sum(axis=1) + outside.sum(axis=1))

    def _remember(self, pair: Ints, seq: Ints, rank: Ints, ends: Ints, highest: Ints) -> None:
        whose = pair[ends]
        self._highest[whose] = highest[ends]
        self._last[whose] = seq[ends]
        sizes = np.repeat(rank[ends] + 1, rank[ends] + 1)
        kept = rank >= sizes - self._remembered
        place = (self._count[pair] + rank) % self._remembered
        self._recent[pair[kept], place[kept]] = seq[kept]
        self._count[whose] += rank[ends] + 1

    def _make_room(self, pairs: int) -> None:
        known = len(self._highest)
        if pairs <= known:
            return
        more = max(pairs, 2 * known) - known
        nothing = np.full(more, _LOWEST, np.int64)
        self._highest = np.append(self._highest, nothing)
        self._last = np.append(self._last, nothing)
        self._count = np.append(self._count, np.zeros(more, np.int64))
        empty = np.zeros((more, self._remembered), np.uint32)
        self._recent = np.concatenate([self._recent, empty])
