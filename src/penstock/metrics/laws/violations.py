"""How far from order: three counts over rows (pair, seq) as they were delivered.

A pair is one publisher and one subscriber. A row is *late* when a higher number
of its pair was delivered before it: the violations of the papers. It is a
*descent* when the row just before it, of its pair, had a higher number. And
an *inversion* is any two rows of a pair that stand the wrong way round.
Equal numbers are never out of order with each other; a duplicate counts again.

Knows nothing of time or of messages that never came. Pairs are any integers to
the functions; to `RunningMaximum` they are codes from 0, of which it keeps one
number each and nothing of the rows.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.kernel.errors import UsageError

Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)

PAIRS_MAX: Final = 1 << 24
_INT_MIN: Final = np.iinfo(np.int64).min
_KEY_MAX: Final = 1 << 62


def late(pairs: ArrayLike, seqs: ArrayLike) -> Flags:
    """Which rows come after a higher number of their pair."""
    pair, seq = _columns(pairs, seqs)
    order, pair, seq = by_pair(pair, seq)
    return unsorted(highest_so_far(pair, seq) > seq, order)


def descents(pairs: ArrayLike, seqs: ArrayLike) -> Flags:
    """Which rows come right after a higher number of their pair."""
    pair, seq = _columns(pairs, seqs)
    order, pair, seq = by_pair(pair, seq)
    falls = np.zeros(len(seq), dtype=np.bool_)
    falls[1:] = (pair[1:] == pair[:-1]) & (seq[1:] < seq[:-1])
    return unsorted(falls, order)


def inversions(pairs: ArrayLike, seqs: ArrayLike) -> int:
    """How many times two rows of a pair stand the wrong way round.

    1. Put the rows in order of pair, and replace each by its rank in the order
       of (pair, seq, row): a permutation, inverted only where a pair is.
    2. Two ranks first differ in some bit. For each bit, from the highest: ranks
       that agree above it stand together; count the ones before each zero.
    3. Move the zeros of each such group before its ones, keeping their order.
    """
    pair, seq = _columns(pairs, seqs)
    _, pair, seq = by_pair(pair, seq)
    n = len(seq)
    ranks = np.empty(n, dtype=np.int64)
    ranks[np.lexsort((seq, pair))] = np.arange(n)
    total = 0
    for bit in reversed(range(max(n - 1, 0).bit_length())):
        ones = (ranks >> bit) & 1
        before = np.cumsum(ones) - ones
        # Ranks are a permutation: those that agree above the bit start where their rank would.
        start = ranks >> (bit + 1) << (bit + 1)
        before -= before[start]
        total += int(before[ones == 0].sum())
        zeros_before = np.arange(n) - start - before
        moved = np.empty_like(ranks)
        moved[start + np.where(ones == 1, (1 << bit) + before, zeros_before)] = ranks
        ranks = moved
    return total


class RunningMaximum:
    """Finds late rows batch by batch, remembering the highest number of each pair."""

    __slots__ = ("_highest", "late", "rows")

    def __init__(self) -> None:
        self._highest = np.full(0, _INT_MIN, dtype=np.int64)
        self.rows = 0
        self.late = 0

    def feed(self, pairs: ArrayLike, seqs: ArrayLike) -> Flags:
        """Takes the next rows in order of delivery; says which of them are late."""
        pair, seq = _columns(pairs, seqs)
        if not len(pair):
            return np.zeros(0, dtype=np.bool_)
        if pair.min() < 0 or pair.max() >= PAIRS_MAX:
            raise UsageError(f"pairs must be codes from 0 to {PAIRS_MAX - 1}: number them first")
        self._make_room(int(pair.max()) + 1)
        order, pair, seq = by_pair(pair, seq)
        highest = np.maximum(highest_so_far(pair, seq), self._highest[pair])
        last = np.flatnonzero(np.append(pair[1:] != pair[:-1], True))
        self._highest[pair[last]] = highest[last]
        found = unsorted(highest > seq, order)
        self.rows += len(found)
        self.late += int(np.count_nonzero(found))
        return found

    def _make_room(self, pairs: int) -> None:
        known = len(self._highest)
        if pairs > known:
            more = np.full(max(pairs, 2 * known) - known, _INT_MIN, dtype=np.int64)
            self._highest = np.append(self._highest, more)


def _columns(pairs: ArrayLike, seqs: ArrayLike) -> tuple[Ints, Ints]:
    pair, seq = _integers(pairs), _integers(seqs)
    if pair.shape != seq.shape or pair.ndim != 1:
        raise UsageError(f"pairs {pair.shape} and seqs {seq.shape} must be columns of one length")
    return pair, seq


def _integers(column: ArrayLike) -> Ints:
    values = np.asarray(column)
    if values.size and values.dtype.kind not in "iu":
        raise UsageError(f"pairs and seqs must be integers, not {values.dtype}")
    if values.dtype == np.uint64 and values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise UsageError("numbers from 2^63 on are not supported")
    return values.astype(np.int64, copy=False)


def by_pair(pair: Ints, seq: Ints) -> tuple[NDArray[np.intp], Ints, Ints]:
    """The rows by pair, in order of delivery within each, and where they were."""
    narrow = pair.astype(np.uint16)  # numpy sorts 16 bits in linear time
    order = np.argsort(narrow if (narrow == pair).all() else pair, kind="stable")
    return order, pair[order], seq[order]


def highest_so_far(pair: Ints, seq: Ints) -> Ints:
    """The highest number so far of each row's pair; rows of a pair stand together."""
    if not len(seq):
        return seq
    group = np.cumsum(np.append(False, pair[1:] != pair[:-1]))
    low, span = int(seq.min()), int(seq.max()) - int(seq.min()) + 1
    if span * (int(group[-1]) + 1) <= _KEY_MAX:
        # Later groups lie higher, so one running maximum serves them all.
        base = group * span - low
        return np.asarray(np.maximum.accumulate(seq + base) - base)
    values, dense = np.unique(seq, return_inverse=True)
    return np.asarray(values[highest_so_far(pair, dense.astype(np.int64))])


def unsorted(values: NDArray[Kind], order: NDArray[np.intp]) -> NDArray[Kind]:
    """What was found of rows by pair, for the rows as they were."""
    out = np.empty_like(values)
    out[order] = values
    return out
