"""The subscriber of one item: takes symbols, answers END with what it lacks, says when it is done.

Holds numbers only; the driver has the bytes, decodes, and says what came of it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import (
    BlockDecodable,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.settings import SubscriberSettings
from penstock.bloomcast.subscriber.block_state import BlockState
from penstock.bloomcast.subscriber.loss_share import LossShare
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.reporter import Question, Reporter
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import MICROSECOND, Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import NEEDS_MAX, REPORT_PARTS_MAX, Item
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.membership import Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop
from penstock.wire.quantise import delta_ns

_STAMP_MASK: Final = 0xFFFF_FFFF
_NEEDS_MAX: Final = NEEDS_MAX * REPORT_PARTS_MAX


class _Timer(Enum):
    """What a subscriber waits for."""

    SUBSCRIBE = auto()
    SILENCE = auto()
    # Whom to ask for FIRST is asked no more often than this.
    FIRST_REQUEST = auto()


class Subscriber:
    """Of one item."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        item: Item,
        *,
        name: str,
        settings: SubscriberSettings,
        seeds: Seeds,
        now: Instant,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._item: Final = item
        self._name: Final = name
        self._settings: Final = settings
        self._reporter: Final = Reporter(seeds, settings)
        self._timers: Final[Timers[_Timer]] = Timers()
        self._first: First | None = None
        self._shape: ObjectShape | None = None
        # Those that have begun and are not complete.
        self._blocks: Final[dict[int, BlockState]] = {}
        self._complete: Final[set[int]] = set()
        self._loss: Final = LossShare()
        # The plan of the segment that the way back belongs to, and where that begins.
        self._plan = -1
        self._up_port: Port = ""
        self.is_complete = False
        self.is_stopped = False
        self._timers.set(_Timer.SUBSCRIBE, now)

    # Frames.

    def on_packet(self, packet: Packet, via: Port, now: Instant) -> None:
        """A packet of the item."""
        if self.is_stopped:
            return
        header, body = packet.header, packet.body
        if isinstance(body, Symbols):
            self._on_symbols(header, body)
        elif isinstance(body, First):
            self._on_first(header, body, via, now)
        elif isinstance(body, End):
            self._on_end(header, body, now)
        elif isinstance(body, Stop):
            self._stop(body.reason)
        else:
            return
        self._timers.set(_Timer.SILENCE, now + self._settings.silence_ns)

    def _on_first(self, header: Header, body: First, via: Port, now: Instant) -> None:
        if self._first is None:
            try:
                self._shape = ObjectShape.of(body)
            except PeerError:
                # Nobody can send such an object: the frame is counted as lost.
                return
            self._timers.cancel(_Timer.SUBSCRIBE)
            self._out.tell(TransferOpened(self._item, body))
        elif body.epoch != self._first.epoch:
            return
        self._first, self._plan, self._up_port = body, header.plan, via
        if header.generation == 0:
            self._reporter.asked(Question(0, header, now, delta_ns(body.hold_100us)))
        self._finish_if_complete()

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        shape, block = self._shape, header.block
        if shape is None:
            return
        symbols = shape.symbols_of(block)
        if not symbols:
            return
        self._reporter.answered(header.generation)
        if header.generation == 0:
            start = shape.place(block, body.numbers[0])
            self._loss.arrived(start, start + len(body.numbers), len(body.numbers))
        if block in self._complete:
            return
        state = self._blocks.get(block)
        if state is None:
            state = self._blocks[block] = BlockState(symbols)
        new = state.add(body.numbers)
        if new:
            self._out.tell(SymbolsArrived(self._item, block, new))
            self._try_to_decode(block, state)

    def _on_end(self, header: Header, body: End, now: Instant) -> None:
        if self._shape is None:
            return
        if header.generation == 0:
            self._loss.ended(self._shape.places)
        if header.plan != self._plan:
            self._request_first(header, now)
        self._reporter.asked(
            Question(header.generation + 1, header, now, delta_ns(body.hold_100us))
        )

    # The driver.

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""
        state = self._blocks.get(block)
        if state is None:
            return
        if verdict is Verdict.COMPLETE:
            del self._blocks[block]
            self._complete.add(block)
            self._finish_if_complete()
        elif verdict is Verdict.UNDECODED:
            state.undecoded()
            self._try_to_decode(block, state)
        else:
            state.drop_repairs()

    def leave(self, reason: str, now: Instant) -> None:
        """Goes before the end."""
        if not self.is_stopped and not self.is_complete:
            body = Unsubscribe(subscriber=self._out.node, reason=reason)
            self._control.send_up(body, item=self._item, now=now)
        self.is_stopped = True

    # Time.

    def wake(self, now: Instant) -> None:
        """Reports and asks what is due."""
        if self.is_stopped:
            return
        for timer in self._timers.due(now):
            if timer is _Timer.SUBSCRIBE:
                self._subscribe(now)
            elif timer is _Timer.SILENCE:
                self._stop("silent")
        question = self._reporter.due(now)
        if question is not None:
            self._report(question, now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        if self.is_stopped:
            return None
        return earliest(self._timers.next_wakeup(), self._reporter.next_wakeup())

    # Parts of the above.

    def _subscribe(self, now: Instant) -> None:
        """Again and again until FIRST comes: the controller may be new, or not there yet."""
        body = Subscribe(subscriber=self._out.node, name=self._name)
        self._control.send_up(body, item=self._item, now=now)
        self._timers.set(_Timer.SUBSCRIBE, now + self._settings.subscribe_ns)

    def _request_first(self, header: Header, now: Instant) -> None:
        if _Timer.FIRST_REQUEST in self._timers or self._first is None:
            return
        self._timers.set(_Timer.FIRST_REQUEST, now + self._settings.first_request_ns)
        self._put(header, FirstRequest(child=self._out.node), Flag(0), header.stamp_us)

    def _try_to_decode(self, block: int, state: BlockState) -> None:
        if not state.need and not state.is_decoding:
            state.is_decoding = True
            self._out.tell(BlockDecodable(self._item, block))

    def _finish_if_complete(self) -> None:
        shape = self._shape
        if shape is not None and not self.is_complete and len(self._complete) == shape.block_count:
            self.is_complete = True
            self._out.tell(ObjectComplete(self._item))

    def _stop(self, reason: str) -> None:
        self.is_stopped = True
        self._out.tell(TransferStopped(self._item, reason))

    def _needs(self) -> dict[int, int]:
        """By block, what is missing; as much as a report holds."""
        needs: dict[int, int] = {}
        shape = self._shape
        assert shape is not None
        for block in shape.blocks():
            if block in self._complete:
                continue
            state = self._blocks.get(block)
            need = shape.symbols_of(block) if state is None else state.need
            if need:
                needs[block] = need
                if len(needs) == _NEEDS_MAX:
                    break
        return needs

    def _report(self, question: Question, now: Instant) -> None:
        header = question.header
        flags = Flag.OPENING if question.round == 0 else Flag(0)
        needs: dict[int, int] = {}
        if question.round:
            needs = self._needs()
        elif not self._complete and not self._blocks:
            flags |= Flag.ALL
        stamp_us = header.stamp_us + (now - question.asked_at) // MICROSECOND & _STAMP_MASK
        for report in report_parts(
            needs,
            child=self._out.node,
            hold_100us=0,
            loss=self._loss.loss,
            done=int(self.is_complete),
            total=1,
        ):
            self._put(header, report, flags, stamp_us)

    def _put(
        self, answered: Header, body: FirstRequest | Report, flags: Flag, stamp_us: int
    ) -> None:
        """To the head of the segment, by the way back that FIRST gave."""
        first = self._first
        assert first is not None
        header = Header(
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            item=self._item,
            flags=flags,
            segment=answered.segment,
            plan=answered.plan,
            generation=answered.generation,
            stamp_us=stamp_us,
        )
        packet = Packet(header=header, body=body, origin=self._out.next_origin())
        self._out.send(self._up_port, packet)
