"""A set of small numbers in one bit each, as a receiver keeps it of symbols and of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final


class BitSet:
    """Numbers from 0 up to, not including, `size`."""

    __slots__ = ("_bits", "size")

    def __init__(self, size: int, data: bytes = b"") -> None:
        self.size: Final = size
        self._bits = int.from_bytes(data, "little") & self._mask(0, size)

    def add(self, start: int, stop: int) -> int:
        """Adds a range; returns how many of its numbers are new."""
        bits = self._bits
        self._bits = bits | self._mask(start, stop)
        return (self._bits ^ bits).bit_count()

    def remove(self, start: int, stop: int) -> None:
        """Removes a range."""
        self._bits &= ~self._mask(start, stop)

    def runs(self) -> Iterator[tuple[int, int]]:
        """The numbers in it, as ranges."""
        return _runs(self._bits)

    def missing_runs(self) -> Iterator[tuple[int, int]]:
        """The numbers that are not in it, as ranges."""
        return _runs(self._bits ^ self._mask(0, self.size))

    def byte(self, index: int) -> bytes:
        """One of the bytes that `data` consists of."""
        return bytes([self._bits >> 8 * index & 0xFF])

    def data(self) -> bytes:
        """All of it, the lowest numbers first."""
        return self._bits.to_bytes(-(-self.size // 8), "little")

    def __contains__(self, number: int) -> bool:
        return self._bits >> number & 1 == 1

    def __len__(self) -> int:
        return self._bits.bit_count()

    @staticmethod
    def _mask(start: int, stop: int) -> int:
        return (1 << stop) - (1 << start)


def _runs(bits: int) -> Iterator[tuple[int, int]]:
    at = 0
    while bits:
        skipped = (bits & -bits).bit_length() - 1
        bits >>= skipped
        length = (~bits & bits + 1).bit_length() - 1
        bits >>= length
        yield at + skipped, at + skipped + length
        at += skipped + length
