"""What an end of a segment lacks, block by block, in the three ways in which it can say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.base import RANGES_A_BLOCK_MAX
from penstock.wire.frames.cast.transfer import RepairChoice

# To send the symbols themselves saves receivers the decoding, but each serves only who lacks it: it
# pays up to this part of a block.
_EXACT_PART: Final = 200


class Listed(NamedTuple):
    """Source symbols that are missing; any repair symbols, as many as `need`, do as well."""

    ranges: IntervalSet
    # The most that any one end lacks of them.
    need: int


@dataclass(frozen=True, slots=True)
class Missing:
    """By block."""

    # So many symbols, whichever they are.
    counted: Mapping[int, int] = field(default_factory=dict)
    listed: Mapping[int, Listed] = field(default_factory=dict)
    # Source symbols that nothing can replace.
    exact: Mapping[int, IntervalSet] = field(default_factory=dict)


def exact_max(block_symbols: int, choice: RepairChoice) -> int:
    """How many source symbols of a block are sent again as they are, rather than repair symbols."""
    if choice is RepairChoice.CODED:
        return 0
    return block_symbols if choice is RepairChoice.EXACT else block_symbols // _EXACT_PART


def size_of(ranges: Iterable[tuple[int, int]]) -> int:
    """How many symbols there are in them."""
    return sum([stop - start for start, stop in ranges])


def union_of(sets: Iterable[IntervalSet]) -> IntervalSet:
    """Whatever is in any of them."""
    return IntervalSet([each for ranges in sets for each in ranges])


def is_listable(ranges: IntervalSet, symbols_max: int) -> bool:
    """Whether a report lists so much of one block, rather than count it."""
    return len(ranges) <= RANGES_A_BLOCK_MAX and size_of(ranges) <= symbols_max
