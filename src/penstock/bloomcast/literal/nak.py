"""A NAK: a REPORT that lists packets, one or many, that somebody missed.

A *packet number* is the block and the symbol of a packet in one integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.wire.frames.cast.base import RANGES_A_BLOCK_MAX, RANGES_BYTES_MAX
from penstock.wire.frames.cast.report import BlockRanges, Report, SymbolRange, ranges_bytes

# What the comparison counts: the header, and each number.
NAK_BYTES: Final = 60
NUMBER_BYTES: Final = 4
NUMBERS_MAX: Final = 256

_SYMBOL_BITS: Final = 16
_SYMBOL_MASK: Final = (1 << _SYMBOL_BITS) - 1
# A range of its own, in an entry of its own.
_NUMBER_BYTES_MAX: Final = 8


def packet_number(block: int, symbol: int) -> int:
    """Source symbols have at most 16 bits."""
    return block << _SYMBOL_BITS | symbol


def block_and_symbol(number: int) -> tuple[int, int]:
    """What `packet_number` was made of."""
    return number >> _SYMBOL_BITS, number & _SYMBOL_MASK


def naks(child: int, numbers: Iterable[int]) -> list[Report]:
    """As few NAKs as hold these packet numbers."""
    found: list[Report] = []
    entries: list[BlockRanges] = []
    count = 0
    for number in sorted(numbers):
        if count == NUMBERS_MAX or ranges_bytes(tuple(entries)) > (
            RANGES_BYTES_MAX - _NUMBER_BYTES_MAX
        ):
            found.append(_nak(child, entries))
            entries, count = [], 0
        _append(entries, *block_and_symbol(number))
        count += 1
    if entries:
        found.append(_nak(child, entries))
    return found


def numbers_in(report: Report) -> Iterator[int]:
    """The packet numbers of a NAK."""
    for block, ranges in report.ranges:
        for start, stop in ranges:
            yield from range(packet_number(block, start), packet_number(block, stop))


def nak_bytes(report: Report) -> int:
    """What a NAK counts as."""
    return NAK_BYTES + NUMBER_BYTES * sum(
        stop - start for _, ranges in report.ranges for start, stop in ranges
    )


def _append(entries: list[BlockRanges], block: int, symbol: int) -> None:
    if entries and entries[-1].block == block:
        ranges = entries[-1].ranges
        start, stop = ranges[-1]
        if stop == symbol:
            entries[-1] = BlockRanges(block, (*ranges[:-1], SymbolRange(start, symbol + 1)))
            return
        if len(ranges) < RANGES_A_BLOCK_MAX:
            entries[-1] = BlockRanges(block, (*ranges, SymbolRange(symbol, symbol + 1)))
            return
    entries.append(BlockRanges(block, (SymbolRange(symbol, symbol + 1),)))


def _nak(child: int, entries: list[BlockRanges]) -> Report:
    return Report(
        child=child,
        part=0,
        parts=1,
        hold_100us=0,
        loss=0,
        done=0,
        total=0,
        ranges=tuple(entries),
    )
