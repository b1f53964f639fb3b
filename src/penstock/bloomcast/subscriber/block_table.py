"""The blocks of an object at one subscriber: what is there of each, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from penstock.bloomcast.facts import Verdict
from penstock.bloomcast.segment.missing import Listed, Missing, exact_max, size_of
from penstock.bloomcast.subscriber.block_state import BlockState, take_verdict
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.base import (
    NEEDS_MAX,
    RANGES_A_BLOCK_MAX,
    RANGES_BYTES_MAX,
    REPORT_PARTS_MAX,
)
from penstock.wire.frames.cast.transfer import RepairChoice

_BLOCKS_MAX: Final = NEEDS_MAX * REPORT_PARTS_MAX
# Of a poisoned block: more than a report holds.
_RUNS_MAX: Final = RANGES_BYTES_MAX * REPORT_PARTS_MAX


class BlockTable:
    """Of one object."""

    def __init__(self, shape: ObjectShape) -> None:
        self._shape: Final = shape
        # Those that have begun and are not complete.
        self._begun: Final[dict[int, BlockState]] = {}
        self._complete: Final[set[int]] = set()

    def hold(self, blocks: Collection[int]) -> None:
        """These are there from an earlier attempt."""
        self._complete.update(block for block in blocks if self._shape.symbols_of(block))

    @property
    def complete(self) -> frozenset[int]:
        """Blocks that need nothing."""
        return frozenset(self._complete)

    @property
    def is_complete(self) -> bool:
        """Whether every block is."""
        return len(self._complete) == self._shape.block_count

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there at all."""
        return not self._complete and not self._begun

    def add(self, block: int, numbers: tuple[int, ...]) -> tuple[int, ...]:
        """Takes symbols; returns those that are new, and wanted."""
        if block in self._complete:
            return ()
        state = self._begun.get(block)
        if state is None:
            state = self._begun[block] = BlockState(self._shape.symbols_of(block))
        return state.add(numbers)

    def begin_decoding(self, block: int) -> bool:
        """Whether there is enough of a block, and nobody is at it yet."""
        state = self._begun[block]
        if state.need or state.is_decoding:
            return False
        state.decoding()
        return True

    def decoded(self, block: int, verdict: Verdict) -> bool:
        """What came of it; False if the block is not waited for."""
        return take_verdict(self._begun, self._complete, block, verdict)

    def counted(self) -> Missing:
        """How many symbols each block lacks; as much as a report holds."""
        return Missing({block: need for block, need, _state in self._needs()})

    def missing(self, choice: RepairChoice) -> Missing:
        """As `counted`, but lists what the publisher may send again, or must."""
        counted: dict[int, int] = {}
        listed: dict[int, Listed] = {}
        exact: dict[int, IntervalSet] = {}
        for block, _need, state in self._needs():
            found = missing_of(block, state, self._shape.symbols_of(block), choice)
            counted.update(found.counted)
            listed.update(found.listed)
            exact.update(found.exact)
        return Missing(counted, listed, exact)

    def _needs(self) -> Iterator[tuple[int, int, BlockState | None]]:
        """Blocks, what they lack, and what is there of them."""
        found = 0
        for block in self._shape.blocks():
            if block in self._complete:
                continue
            state = self._begun.get(block)
            need = self._shape.symbols_of(block) if state is None else state.need
            if need:
                yield block, need, state
                found += 1
                if found == _BLOCKS_MAX:
                    return


def missing_of(block: int, state: BlockState | None, symbols: int, choice: RepairChoice) -> Missing:
    """What one block lacks; without a state, all of it."""
    if state is not None and state.is_poisoned:
        return Missing(exact={block: state.missing(_RUNS_MAX)})
    need = symbols if state is None else state.need
    if not need:
        return Missing()
    ranges = _few_missing(state, symbols, need, exact_max(symbols, choice))
    if ranges is None:
        return Missing({block: need})
    return Missing(listed={block: Listed(ranges, need)})


def _few_missing(
    state: BlockState | None, symbols: int, need: int, symbols_max: int
) -> IntervalSet | None:
    """So many source symbols that are missing; None if that is too much to list."""
    if need > symbols_max:
        return None
    if state is None:
        return IntervalSet([(0, symbols)])
    # Repair symbols may have come for the others.
    ranges = state.missing(RANGES_A_BLOCK_MAX)
    excess = size_of(ranges) - need
    while excess > 0:
        start, stop = max(ranges)
        ranges.remove(max(start, stop - excess), stop)
        excess = size_of(ranges) - need
    return ranges if not excess else None
