"""A stream at a subscriber: blocks that come at the same time, and are handed over in order.

How many symbols a block has, and its hash, is known from END: until then repair symbols are of no
use, and nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    BlockEnded,
    BlockReady,
    BlocksGone,
    StreamInterrupted,
    SymbolsArrived,
    TransferOpened,
    Verdict,
)
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.missing import Missing
from penstock.bloomcast.segment.report_parts import ReportPart, report_parts
from penstock.bloomcast.segment.stream_shape import StreamShape
from penstock.bloomcast.subscriber.block_state import BlockState
from penstock.bloomcast.subscriber.block_table import missing_of
from penstock.bloomcast.subscriber.reporter import Question
from penstock.bloomcast.subscriber.stream_blocks import Passed, StreamBlocks
from penstock.bloomcast.subscriber.stream_loss import StreamLoss
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, STREAM_BLOCKS_MAX, Item
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.transfer import ClosedBlock, End, First, Stop


class StreamReception:
    """Of one epoch of its publisher."""

    def __init__(self, out: Outbox, item: Item, header: Header, first: First) -> None:
        """Raises `PeerError` if what is announced cannot be."""
        self._out: Final = out
        self._item: Final = item
        self._first = first
        self._shape: Final = StreamShape(first)
        self._blocks: Final = StreamBlocks(header.block)
        self._loss: Final = StreamLoss()
        self.is_complete = False
        out.tell(TransferOpened(item, first))

    def begin_epoch(self, header: Header, first: First) -> StreamReception:
        """The publisher has begun again: what is there does not continue."""
        self._out.tell(StreamInterrupted(self._item))
        return StreamReception(self._out, self._item, header, first)

    @property
    def lacks_from(self) -> int:
        """The first block that is not there."""
        return self._blocks.next

    def key_of(self, header: Header) -> int:
        """Each block has a question of its own."""
        return header.block

    def rated_symbols(self, header: Header, numbers: tuple[int, ...]) -> int:
        """What is lost at the end of a block is not seen, since its length is not known yet."""
        return numbers[-1] + 1 if header.block < MANIFEST_BLOCK else 0

    def on_first(self, header: Header, first: First) -> None:  # noqa: ARG002
        """FIRST says which blocks are over."""
        self._first = first
        self._pass(self._blocks.pass_before(first.blocks))

    def on_symbols(self, header: Header, numbers: tuple[int, ...]) -> None:
        """Symbols of a block."""
        block, shape, blocks = header.block, self._shape, self._blocks
        self._pass(blocks.reach(block))
        if not blocks.needs(block):
            return
        symbols = shape.symbols_of(block)
        if not shape.is_ended(block):
            if header.flags & Flag.REPAIR or numbers[-1] >= symbols:
                return
            self._loss.arrived(block, len(numbers))
        state = blocks.state(block, symbols)
        new = state.add(numbers)
        if new:
            self._out.tell(SymbolsArrived(self._item, block, new))
            self._try_to_decode(block, state)

    def on_end(self, header: Header, body: End) -> None:  # noqa: ARG002
        """END says of the latest blocks how long they are, and which ones are over."""
        self._learn(body.closed)
        self._pass(self._blocks.pass_before(body.first_block))
        # There may be room for more now.
        self._learn(body.closed)

    def _learn(self, closed: Iterable[ClosedBlock]) -> None:
        blocks = self._blocks
        near = [each for each in closed if each.block < blocks.next + STREAM_BLOCKS_MAX]
        for each in self._shape.learn(near):
            if blocks.needs(each.block):
                self._loss.ended(each.block, each.symbols)
                state = blocks.end(each.block, each.symbols)
                self._out.tell(BlockEnded(self._item, each.block, each.symbols, each.digest))
                self._try_to_decode(each.block, state)

    def on_stop(self, header: Header, body: Stop) -> None:
        """There are no blocks but those before the one that STOP names."""
        if not body.reason:
            self._pass(self._blocks.pass_before(header.block))
            self.is_complete = True

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""
        if not self._blocks.decoded(block, verdict):
            return
        if verdict is Verdict.COMPLETE:
            self._pass(self._blocks.pass_ready())
        else:
            self._try_to_decode(block, self._blocks.state(block, self._shape.symbols_of(block)))

    def report(self, question: Question) -> list[ReportPart]:
        """What is missing of one block; to FIRST, that all is wanted."""
        block, missing, flags = question.header.block, Missing(), Flag(0)
        is_done = bool(question.round) and not self._blocks.needs(block)
        if not question.round:
            flags = Flag.OPENING | Flag.ALL
        elif not is_done and self._shape.is_ended(block):
            symbols = self._shape.symbols_of(block)
            state = self._blocks.state(block, symbols)
            missing = missing_of(block, state, symbols, self._first.repair)
        parts = report_parts(
            missing,
            child=self._out.node,
            # It waits for nobody.
            hold_100us=0,
            loss=self._loss.loss,
            done=int(is_done),
            total=1,
        )
        return [ReportPart(each, flags | added) for each, added in parts]

    def _try_to_decode(self, block: int, state: BlockState) -> None:
        if self._shape.is_ended(block) and not state.need and not state.is_decoding:
            state.decoding()
            self._out.tell(BlockDecodable(self._item, block))

    def _pass(self, passed: Iterable[Passed]) -> None:
        for start, stop, is_ready in passed:
            if is_ready:
                self._out.tell(BlockReady(self._item, start))
            else:
                self._out.tell(BlocksGone(self._item, start, stop))
