"""Cuts what is missing into the parts of a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from penstock.bloomcast.segment.missing import Missing
from penstock.wire.frames.cast.base import (
    FAILED_MAX,
    NEEDS_MAX,
    RANGES_A_BLOCK_MAX,
    RANGES_BYTES_MAX,
    REPORT_PARTS_MAX,
)
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.report import (
    BlockNeed,
    BlockRanges,
    Report,
    SymbolRange,
    ranges_bytes,
)

# What is needed exactly leaves room for the needs of others.
_EXACT_PARTS_MAX: Final = REPORT_PARTS_MAX // 2


class ReportPart(NamedTuple):
    """One frame."""

    report: Report
    # To add to those of its header.
    flags: Flag


class _Rows(NamedTuple):
    """What one part says."""

    needs: tuple[BlockNeed, ...] = ()
    ranges: tuple[BlockRanges, ...] = ()
    flags: Flag = Flag(0)


def report_parts(
    missing: Missing,
    *,
    child: int,
    hold_100us: int,
    loss: int,
    done: int,
    total: int,
    failed: tuple[int, ...] = (),
) -> list[ReportPart]:
    """One report in as many frames as it takes; blocks that do not fit wait for the next END."""
    rows = _cut(missing) or [_Rows()]
    return [
        ReportPart(
            Report(
                child=child,
                part=part,
                parts=len(rows),
                hold_100us=hold_100us,
                loss=min(loss, 0xFFFF),
                done=done,
                total=total,
                failed=failed[:FAILED_MAX],
                needs=needs,
                ranges=ranges,
            ),
            flags,
        )
        for part, (needs, ranges, flags) in enumerate(rows)
    ]


def _cut(missing: Missing) -> list[_Rows]:
    exact = [
        _Rows(ranges=ranges, flags=Flag.EXACT)
        for ranges in islice(_frames(missing.exact), _EXACT_PARTS_MAX)
    ]
    room = REPORT_PARTS_MAX - len(exact)
    by_block = {block: ranges for block, (ranges, _need) in missing.listed.items()}
    listed = [_Rows(ranges=ranges) for ranges in _frames(by_block)]
    counts = dict(missing.counted)
    if len(listed) + -(-len(counts) // NEEDS_MAX) > room:
        # Counts take less.
        listed = []
        counts.update({block: need for block, (_ranges, need) in missing.listed.items()})
    needs = [BlockNeed(block, need) for block, need in sorted(counts.items())]
    counted = [
        _Rows(needs=tuple(needs[at : at + NEEDS_MAX])) for at in range(0, len(needs), NEEDS_MAX)
    ]
    return (exact + listed + counted)[:REPORT_PARTS_MAX]


def _frames(blocks: Mapping[int, Iterable[tuple[int, int]]]) -> Iterator[tuple[BlockRanges, ...]]:
    """Ranges by frame, in the order of blocks."""
    frame: tuple[BlockRanges, ...] = ()
    for entry in _entries(blocks):
        longer = (*frame, entry)
        if ranges_bytes(longer) > RANGES_BYTES_MAX:
            yield frame
            longer = (entry,)
        frame = longer
    if frame:
        yield frame


def _entries(blocks: Mapping[int, Iterable[tuple[int, int]]]) -> Iterator[BlockRanges]:
    """A block with many ranges has several."""
    for block, ranges in sorted(blocks.items()):
        rows = [SymbolRange(start, stop) for start, stop in ranges]
        for at in range(0, len(rows), RANGES_A_BLOCK_MAX):
            yield BlockRanges(block, tuple(rows[at : at + RANGES_A_BLOCK_MAX]))
