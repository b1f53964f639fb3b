"""A file at a subscriber: what is there of it, and what it lacks."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    EpochBegan,
    Held,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    Verdict,
)
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.questions import OPENING
from penstock.bloomcast.segment.report_parts import ReportPart
from penstock.bloomcast.subscriber.block_table import BlockTable
from penstock.bloomcast.subscriber.loss_share import LossShare
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.reporter import Question
from penstock.bloomcast.subscriber.reports import missing_report, opening_report
from penstock.bloomcast.subscriber.sending_order import SendingOrder
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.transfer import End, First, Stop


class FileReception:
    """Of one transfer."""

    def __init__(self, out: Outbox, item: Item, first: First, held: Held | None) -> None:
        """Raises `PeerError` if what is announced cannot be."""
        self._out: Final = out
        self._item: Final = item
        self._first = first
        self._shape: Final = ObjectShape.of(first)
        self._blocks: Final = BlockTable(self._shape)
        if held is not None and held.object_id == first.object_id:
            self._blocks.hold(held.blocks)
        self._order = SendingOrder(self._shape, self._blocks.complete)
        self._loss = LossShare()
        self.is_complete = False
        out.tell(TransferOpened(item, first))

    def begin_epoch(self, header: Header, first: First) -> FileReception:  # noqa: ARG002
        """The publisher has begun again with the same object: what is there is kept."""
        self._order = SendingOrder(self._shape, self._blocks.complete)
        self._loss = LossShare()
        self._out.tell(EpochBegan(self._item, first.epoch))
        return self

    @property
    def lacks_from(self) -> int:
        """One report says it all."""
        return 0

    def key_of(self, header: Header) -> int:  # noqa: ARG002
        """There is one question."""
        return OPENING

    def rated_symbols(self, header: Header, numbers: tuple[int, ...]) -> int:  # noqa: ARG002
        """Source symbols of a block; 0 if there is no such block."""
        return self._shape.symbols_of(header.block)

    def on_first(self, header: Header, first: First) -> None:  # noqa: ARG002
        """FIRST has come, perhaps again."""
        self._first = first
        self._finish_if_complete()

    def on_symbols(self, header: Header, numbers: tuple[int, ...]) -> None:
        """Symbols of a block that there is."""
        block = header.block
        if header.generation == 0:
            self._count(block, numbers)
        new = self._blocks.add(block, numbers)
        if new:
            self._out.tell(SymbolsArrived(self._item, block, new))
            self._try_to_decode(block)

    def _count(self, block: int, numbers: tuple[int, ...]) -> None:
        start, last = (self._order.place(block, number) for number in (numbers[0], numbers[-1]))
        if start is not None and last is not None:
            self._loss.arrived(start, last + 1, len(numbers))

    def on_end(self, header: Header, body: End) -> None:  # noqa: ARG002
        """END has come."""
        if header.generation == 0:
            self._loss.ended(self._order.places)

    def on_stop(self, header: Header, body: Stop) -> None:
        """Nothing more will come."""

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""
        if not self._blocks.decoded(block, verdict):
            return
        if verdict is Verdict.COMPLETE:
            self._finish_if_complete()
        else:
            self._try_to_decode(block)

    def report(self, question: Question) -> list[ReportPart]:
        """What is missing, or before generation 0 what is needed."""
        node, loss = self._out.node, self._loss.loss
        if question.round:
            return missing_report(node, self._blocks, self._first.repair, loss=loss)
        return opening_report(node, self._blocks, loss=loss)

    def _try_to_decode(self, block: int) -> None:
        if self._blocks.begin_decoding(block):
            self._out.tell(BlockDecodable(self._item, block))

    def _finish_if_complete(self) -> None:
        if not self.is_complete and self._blocks.is_complete:
            self.is_complete = True
            self._out.tell(ObjectComplete(self._item))
