"""REPORT: what an end of a segment still needs, and who below it is done."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    FAILED_MAX,
    NEEDS_MAX,
    RANGES_A_BLOCK_MAX,
    RANGES_BYTES_MAX,
    REPORT_PARTS_MAX,
    CastBody,
    check_page,
)

_BLOCK_BYTES: Final = 4
_RANGE_BYTES: Final = 4


class BlockNeed(NamedTuple):
    """So many symbols of a block, whichever they are."""

    block: int
    symbols: int


class SymbolRange(NamedTuple):
    """Source symbols from `start` up to, not including, `stop`."""

    start: int
    stop: int


class BlockRanges(NamedTuple):
    """These symbols of a block."""

    block: int
    ranges: tuple[SymbolRange, ...]


class Report(CastBody, frozen=True, kw_only=True, gc=False):
    """The answer to END, or with the flag OPENING to FIRST; `needs` or `ranges`, never both.

    The header's generation is the one that was ended, and its stamp that of the frame answered,
    plus the time the answer was held back.
    """

    child: int
    part: int
    parts: int
    # How long the child itself waits for reports, in 100 µs.
    hold_100us: int
    # The loss of what was sent while the child took part, in 2^-16.
    loss: int
    # Subscribers at and below the child: those who have all, and all of them.
    done: int
    total: int
    failed: tuple[int, ...] = ()
    needs: tuple[BlockNeed, ...] = ()
    ranges: tuple[BlockRanges, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(32, child=self.child, done=self.done, total=self.total)
        check_page(self.part, self.parts, REPORT_PARTS_MAX)
        check_unsigned(16, hold_100us=self.hold_100us, loss=self.loss)
        check_count("failed nodes", self.failed, FAILED_MAX)
        for node in self.failed:
            check_unsigned(32, node=node)
        if self.done > self.total:
            raise UsageError(f"{self.done} of {self.total} subscribers cannot be done")
        if self.needs and self.ranges:
            raise UsageError("a report counts what is needed or lists it, not both")
        check_count("blocks", self.needs, NEEDS_MAX)
        for block, symbols in self.needs:
            check_unsigned(24, block=block)
            if not 0 < symbols < 1 << 16:
                raise UsageError(f"block {block} needs 1 to 65 535 symbols, not {symbols}")
        _check_ranges(self.ranges)


def ranges_bytes(ranges: tuple[BlockRanges, ...]) -> int:
    """Their size in a frame."""
    return sum([_BLOCK_BYTES + _RANGE_BYTES * len(each.ranges) for each in ranges])


def _check_ranges(blocks: tuple[BlockRanges, ...]) -> None:
    if ranges_bytes(blocks) > RANGES_BYTES_MAX:
        raise UsageError(f"ranges take at most {RANGES_BYTES_MAX} bytes of a frame")
    for block, ranges in blocks:
        check_unsigned(24, block=block)
        if not 0 < len(ranges) <= RANGES_A_BLOCK_MAX:
            raise UsageError(f"a block has 1 to {RANGES_A_BLOCK_MAX} ranges, not {len(ranges)}")
        before = -1
        for start, stop in ranges:
            if not before < start < stop < 1 << 16:
                raise UsageError(f"ranges ascend and are not empty, unlike {start} to {stop}")
            before = stop
