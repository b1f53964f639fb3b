"""Bloom sets as integers, their false-positive rates, and a table that searches many at once.

A set is an integer of m bits. If a filter's set is a subset of a message's, the message may match;
otherwise it does not. Knows nothing of tags: elements are fingerprints, from which all bits are
computed, so that a set can be rebuilt from fingerprints alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from penstock.kernel.errors import UsageError

Handle = TypeVar("Handle", bound=Hashable)

M_MAX: Final = 4_096
K_MAX: Final = 32

_WORD_BITS: Final = 64
_WORD_MASK: Final = (1 << 64) - 1
# SplitMix64 (Steele, Lea and Flood 2014): related states give unrelated words.
_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER: Final = 0xBF58476D1CE4E5B9
_SECOND_MULTIPLIER: Final = 0x94D049BB133111EB


def subset(inner: int, outer: int) -> bool:
    """Whether every bit of `inner` is in `outer`."""
    return inner & outer == inner


@lru_cache(maxsize=16)
def _singles(m: int) -> tuple[int, ...]:
    return tuple(1 << position for position in range(m))


@dataclass(frozen=True, slots=True)
class BloomParams:
    """The size of a set, `m` bits, and the number of bits per element, `k`."""

    m: int = 256
    k: int = 5
    # Positions that one 64-bit word yields, and the set of each position alone.
    _digits: int = field(init=False, repr=False, compare=False)
    _singles: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 8 <= self.m <= M_MAX:
            raise UsageError(f"a Bloom set has 8 to {M_MAX} bits, not {self.m}")
        if not 1 <= self.k <= min(K_MAX, self.m // 2):
            raise UsageError(
                f"k must be 1 to {min(K_MAX, self.m // 2)} for {self.m} bits, not {self.k}"
            )
        object.__setattr__(self, "_digits", _WORD_BITS // (self.m - 1).bit_length())
        object.__setattr__(self, "_singles", _singles(self.m))

    @classmethod
    def for_tags(cls, tags: int) -> BloomParams:
        """Suitable parameters for messages of this many tags; ten attributes have twenty."""
        return cls(256, 5) if tags <= 10 else cls(512, 7)  # [F17]

    def fill(self, tags: int) -> float:
        """The expected share of bits set by this many tags."""
        return -math.expm1(self.k * tags * math.log1p(-1 / self.m))

    def false_positive_rate(self, tags: int) -> float:
        """The probability that a message of this many tags seems to contain another one."""
        return float(self.fill(tags) ** self.k)

    def bits_of_fingerprint(self, fingerprint: int) -> int:
        """The `k` distinct bits of one fingerprint.

        Positions are the base-m digits of a 64-bit word mixed from the fingerprint; repeated
        positions are replaced from another word. Double hashing has only m·m/4 patterns: for 256
        bits too few to reach the predicted false-positive rate.
        """
        m, k, singles = self.m, self.k, self._singles
        bits, state, left = 0, fingerprint, k
        while True:
            word = (state ^ (state >> 30)) * _FIRST_MULTIPLIER & _WORD_MASK
            word = (word ^ (word >> 27)) * _SECOND_MULTIPLIER & _WORD_MASK
            word ^= word >> 31
            for _ in range(left if left < self._digits else self._digits):
                bits |= singles[word % m]
                word //= m
            left = k - bits.bit_count()
            if not left:
                return bits
            state = (state + _GAMMA) & _WORD_MASK

    def bits_of_fingerprints(self, fingerprints: Iterable[int]) -> int:
        """The set of all these fingerprints."""
        bits = 0
        for fingerprint in fingerprints:
            bits |= self.bits_of_fingerprint(fingerprint)
        return bits


# Tables smaller than this are searched faster without numpy.
_SMALL_TABLE: Final = 192
# Tables smaller than this are searched faster as a whole than word by word.
_MEDIUM_TABLE: Final = 1_024
_ROWS_MIN: Final = 256
_GONE: Final = object()
_Words = npt.NDArray[np.uint64]


class FilterTable(Generic[Handle]):
    """The sets of many filters, searched for subsets of a message's set.

    Rows are in insertion order. A removed row is only marked until marks outnumber rows, so adding
    and removing are O(1) amortised.
    """

    __slots__ = ("_bits", "_columns", "_handles", "_rows", "_scratch", "m")

    def __init__(self, m: int = 256) -> None:
        self.m = m
        self._bits: dict[Handle, int] = {}
        self._rows: dict[Handle, int] = {}
        self._handles: list[Any] = []
        self._rebuild(np.empty((-(-m // _WORD_BITS), 0), dtype=np.uint64), _ROWS_MIN)

    def __len__(self) -> int:
        return len(self._bits)

    def __contains__(self, handle: object) -> bool:
        return handle in self._bits

    def add(self, handle: Handle, bits: int) -> None:
        """Adds a set; an existing handle keeps its row and gets the new bits."""
        assert 0 <= bits < 1 << self.m, "the set does not fit the table"
        row = self._rows.get(handle)
        if row is None:
            row = len(self._handles)
            if row == self._columns.shape[1]:
                self._rebuild(self._columns, 2 * row)
            self._handles.append(handle)
            self._rows[handle] = row
        self._bits[handle] = bits
        self._columns[:, row] = self._words(bits)

    def remove(self, handle: Handle) -> None:
        """Removes a set; raises KeyError for an unknown handle."""
        row = self._rows.pop(handle)
        del self._bits[handle]
        self._handles[row] = _GONE
        if len(self._handles) > 2 * max(len(self._bits), _ROWS_MIN):
            self._compact()

    def matching(self, bits: int) -> list[Handle]:
        """The handles whose sets are subsets of `bits`, in insertion order."""
        if len(self._bits) < _SMALL_TABLE:
            missing = ~bits
            return [handle for handle, own in self._bits.items() if not own & missing]
        handles = self._handles
        found = [handles[row] for row in self._matching_rows(bits).tolist()]
        if len(handles) == len(self._bits):
            return found
        return [handle for handle in found if handle is not _GONE]

    def _matching_rows(self, bits: int) -> npt.NDArray[np.intp]:
        """Filters row by row, starting with the word in which the message has the fewest bits."""
        words = self._words(bits)
        missing = ~words
        if len(self._handles) <= _MEDIUM_TABLE:
            lacking = self._columns[:, : len(self._handles)] & missing[:, np.newaxis]
            return np.flatnonzero(np.bitwise_or.reduce(lacking) == 0)
        order = np.argsort(np.bitwise_count(words), kind="stable")
        count = len(self._handles)
        first = order[0]
        scratch = self._scratch[:count]
        np.bitwise_and(self._columns[first, :count], missing[first], out=scratch)
        rows = np.flatnonzero(scratch == 0)
        for word in order[1:]:
            if not rows.size:
                break
            narrowed = self._columns[word].take(rows) & missing[word]
            rows = rows.compress(narrowed == 0)
        return rows

    def _words(self, bits: int) -> _Words:
        return np.frombuffer(bits.to_bytes(8 * len(self._columns), "little"), dtype="<u8")

    def _compact(self) -> None:
        alive = [row for row, handle in enumerate(self._handles) if handle is not _GONE]
        self._handles = [self._handles[row] for row in alive]
        self._rows = {handle: row for row, handle in enumerate(self._handles)}
        self._rebuild(self._columns[:, alive], max(_ROWS_MIN, 2 * len(alive)))

    def _rebuild(self, kept: _Words, rows: int) -> None:
        self._columns: _Words = np.zeros((len(kept), rows), dtype=np.uint64)
        self._columns[:, : kept.shape[1]] = kept
        self._scratch: _Words = np.empty(rows, dtype=np.uint64)
