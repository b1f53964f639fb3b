"""The blocks of a stream at one subscriber: they are ready in order, or gone.

Keeps as many as may be open at the publisher: when a later one comes, the oldest is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.bloomcast.facts import Verdict
from penstock.bloomcast.subscriber.block_state import BlockState, take_verdict
from penstock.wire.frames.cast.base import STREAM_BLOCKS_MAX


class Passed(NamedTuple):
    """Blocks that are over here; `stop` is exclusive."""

    start: int
    stop: int
    is_ready: bool


class StreamBlocks:
    """From the block that it begins with."""

    def __init__(self, begins: int) -> None:
        # The next one to be ready.
        self.next = begins
        # Those that have begun, and those that are complete before their turn.
        self._begun: Final[dict[int, BlockState]] = {}
        self._complete: Final[set[int]] = set()

    def needs(self, block: int) -> bool:
        """Whether a block is waited for."""
        return block >= self.next and block not in self._complete

    def reach(self, block: int) -> Iterator[Passed]:
        """A block has begun at the publisher."""
        yield from self.pass_before(block + 1 - STREAM_BLOCKS_MAX)

    def state(self, block: int, symbols: int) -> BlockState:
        """Of a block that is waited for, and was reached."""
        state = self._begun.get(block)
        if state is None:
            state = self._begun[block] = BlockState(symbols)
        return state

    def end(self, block: int, symbols: int) -> BlockState:
        """A block has so many symbols."""
        state = self.state(block, symbols)
        state.cut(symbols)
        return state

    def decoded(self, block: int, verdict: Verdict) -> bool:
        """What came of it; False if the block is not waited for."""
        return take_verdict(self._begun, self._complete, block, verdict)

    def pass_ready(self) -> Iterator[Passed]:
        """Those that are complete, in order."""
        while self.next in self._complete:
            self._complete.remove(self.next)
            self.next += 1
            yield Passed(self.next - 1, self.next, is_ready=True)

    def pass_before(self, block: int) -> Iterator[Passed]:
        """All before this one are over: what is not complete is gone."""
        yield from self.pass_ready()
        while self.next < block:
            start = self.next
            self.next = min([each for each in self._complete if each < block], default=block)
            for number in [each for each in self._begun if each < self.next]:
                del self._begun[number]
            yield Passed(start, self.next, is_ready=False)
            yield from self.pass_ready()
