"""The subscriber of one item: takes symbols, answers END with what it lacks, says when it is done.

Holds numbers only; the driver has the bytes, decodes, and says what came of it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import (
    BlockDecodable,
    EpochBegan,
    Held,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import RateSettings, SubscriberSettings
from penstock.bloomcast.stamps import held
from penstock.bloomcast.subscriber.block_table import BlockTable
from penstock.bloomcast.subscriber.loss_share import LossShare
from penstock.bloomcast.subscriber.object_shape import ObjectShape, is_same_object
from penstock.bloomcast.subscriber.rate_reporter import RateReporter
from penstock.bloomcast.subscriber.reporter import Question
from penstock.bloomcast.subscriber.reports import missing_report, opening_report
from penstock.bloomcast.subscriber.sending_order import SendingOrder
from penstock.bloomcast.subscriber.way_back import SendBack, WaysBack
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Duration, Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.membership import Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.rate import RateInForce
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop
from penstock.wire.quantise import delta_ns

_PAST_EPOCHS_MAX: Final = 16


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
        rate: RateSettings,
        seeds: Seeds,
        send: SendBack,
        held: Held | None = None,
        now: Instant,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._item: Final = item
        self._name: Final = name
        self._settings: Final = settings
        self._seeds: Final = seeds
        self._rng: Final = seeds.rng("subscribe")
        self._held: Final = held
        self._timers: Final[Timers[_Timer]] = Timers()
        # These three are there from the first FIRST on.
        self._first: First | None = None
        self._shape: ObjectShape | None = None
        self._blocks: BlockTable | None = None
        self._order: SendingOrder | None = None
        self._loss = LossShare()
        self._rate_settings: Final = rate
        # None: nobody controls the rate.
        self._rate = self._new_rate()
        # Of the last symbols of generation 0: by which segment they came.
        self._data_header: Header | None = None
        self._ways: Final = WaysBack(out, item, settings, seeds, send)
        # Of publishers that have begun again since.
        self._past_epochs: Final[BoundedDict[int, None]] = BoundedDict(_PAST_EPOCHS_MAX)
        self._heard_at: Instant = now
        self._resubscribe_ns: Duration = settings.resubscribe_ns
        # One that has to be told of this subscriber.
        self._is_new_controller = False
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
            self._on_symbols(header, body, now)
        elif isinstance(body, First):
            assert packet.origin is not None
            self._on_first(header, body, packet.origin, via, now)
        elif isinstance(body, End):
            self._on_end(header, body, now)
        elif isinstance(body, RateInForce):
            if self._rate is not None:
                self._rate.on_rate(body)
        elif isinstance(body, Stop) and self._ways.follows(packet):
            self._stop("" if self.is_complete else body.reason or "ended without this receiver")
        else:
            return
        self._timers.set(_Timer.SILENCE, now + self._settings.silence_ns)
        self._heard_at, self._resubscribe_ns = now, self._settings.resubscribe_ns

    def _on_first(
        self, header: Header, body: First, origin: Origin, via: Port, now: Instant
    ) -> None:
        if self._first is None:
            try:
                self._shape = ObjectShape.of(body)
            except PeerError:
                # Nobody can send such an object: the frame is counted as lost.
                return
            self._open(body, self._shape)
        elif body.epoch != self._first.epoch:
            if body.epoch in self._past_epochs:
                return
            self._past_epochs[self._first.epoch] = None
            if not is_same_object(body, self._first):
                self._stop("the sender has another object now")
                return
            self._begin_epoch(body.epoch)
        self._first = body
        way = self._ways.opened(header, body, via, origin)
        if header.generation == 0:
            way.reporter.asked(Question(0, header, now, delta_ns(body.hold_100us)))
        self._finish_if_complete()

    def _open(self, first: First, shape: ObjectShape) -> None:
        held = self._held
        blocks = self._blocks = BlockTable(shape)
        if held is not None and held.object_id == first.object_id:
            blocks.hold(held.blocks)
        self._order = SendingOrder(shape, blocks.complete)
        self._out.tell(TransferOpened(self._item, first))

    def _begin_epoch(self, epoch: int) -> None:
        """The publisher has begun again with the same object: what is there is kept."""
        assert self._shape is not None
        assert self._blocks is not None
        self._ways.clear()
        self._order = SendingOrder(self._shape, self._blocks.complete)
        self._loss = LossShare()
        self._rate = self._new_rate()
        self._data_header = None
        self._out.tell(EpochBegan(self._item, epoch))

    def _new_rate(self) -> RateReporter | None:
        settings = self._rate_settings
        if not settings.is_controlled:
            return None
        return RateReporter(self._seeds, settings, node=self._out.node)

    def _on_symbols(self, header: Header, body: Symbols, now: Instant) -> None:
        shape, blocks, block = self._shape, self._blocks, header.block
        if shape is None or blocks is None or not shape.symbols_of(block):
            return
        self._ways.answered(header.generation)
        if header.generation == 0:
            self._count(block, body.numbers)
            self._on_rated(header, body, now)
        new = blocks.add(block, body.numbers)
        if new:
            self._out.tell(SymbolsArrived(self._item, block, new))
            self._try_to_decode(blocks, block)

    def _count(self, block: int, numbers: tuple[int, ...]) -> None:
        assert self._order is not None
        start, last = (self._order.place(block, number) for number in (numbers[0], numbers[-1]))
        if start is not None and last is not None:
            self._loss.arrived(start, last + 1, len(numbers))

    def _on_end(self, header: Header, body: End, now: Instant) -> None:
        way = self._ways.get(header.segment)
        if self._order is None or way is None:
            # Whose END it is will send FIRST again, as it is not answered.
            return
        if header.generation == 0:
            self._loss.ended(self._order.places)
            if self._rate is not None:
                self._rate.ended()
        if header.plan != way.plan:
            self._request_first(header, now)
        way.reporter.asked(Question(header.generation + 1, header, now, delta_ns(body.hold_100us)))

    @property
    def is_opened(self) -> bool:
        """Whether FIRST has come."""
        return self._first is not None

    # The driver.

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""
        blocks = self._blocks
        if blocks is None or not blocks.decoded(block, verdict):
            return
        if verdict is Verdict.COMPLETE:
            self._finish_if_complete()
        else:
            self._try_to_decode(blocks, block)

    def disk_rate(self, rate_bps: int | None) -> None:
        """The disk keeps up with so much only; None: with what comes."""
        if self._rate is not None:
            self._rate.disk_rate(rate_bps)

    def leave(self, reason: str, now: Instant) -> None:
        """Goes before the end: heads are not to wait for its reports."""
        self._control.withdraw(Subscribe, item=self._item)
        if not self.is_stopped:
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
                self._subscribe_if_silent(now)
            elif timer is _Timer.SILENCE:
                self._stop("" if self.is_complete else "silent")
                return
        for question in self._ways.due(now):
            self._report(question, now)
        self._report_rate(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        if self.is_stopped:
            return None
        rate_at = None if self._rate is None else self._rate.next_wakeup()
        return earliest(self._timers.next_wakeup(), rate_at, self._ways.next_wakeup())

    # The controller.

    def on_controller(self, now: Instant) -> None:
        """There is another one, or it has restarted: it is to know of this subscriber."""
        if not self.is_stopped:
            # One that has been known has no hurry once it has FIRST, and there may be many others.
            is_new = self._first is None or self._control.is_saying(Subscribe, self._item)
            wait_ns = 0 if is_new else self._rng.randrange(self._settings.subscribe_ns)
            self._is_new_controller = True
            self._timers.set(_Timer.SUBSCRIBE, now + wait_ns)

    def on_unanswered(self, now: Instant) -> None:
        """SUBSCRIBE was not answered."""
        self.on_controller(now)

    # Parts of the above.

    def _subscribe(self, now: Instant) -> None:
        """Again and again until FIRST comes: the controller may be new, or not there yet."""
        self._control.withdraw(Subscribe, item=self._item)
        body = Subscribe(subscriber=self._out.node, name=self._name)
        self._control.send_up(body, item=self._item, now=now)
        wait_ns = self._settings.subscribe_ns
        if self._first is not None:
            wait_ns, self._resubscribe_ns = self._resubscribe_ns, 2 * self._resubscribe_ns
        self._timers.set(_Timer.SUBSCRIBE, now + wait_ns)

    def _subscribe_if_silent(self, now: Instant) -> None:
        at = self._heard_at + self._settings.resubscribe_ns
        if self._first is None or self._is_new_controller or at <= now:
            self._is_new_controller = False
            self._subscribe(now)
        else:
            self._timers.set(_Timer.SUBSCRIBE, at)

    def _request_first(self, header: Header, now: Instant) -> None:
        if _Timer.FIRST_REQUEST in self._timers or self._first is None:
            return
        self._timers.set(_Timer.FIRST_REQUEST, now + self._settings.first_request_ns)
        self._ways.put(header, FirstRequest(child=self._out.node), Flag(0), header.stamp_us, now)

    def _on_rated(self, header: Header, body: Symbols, now: Instant) -> None:
        """Symbols of generation 0, by which the rate is judged."""
        rate, shape, first = self._rate, self._shape, self._first
        if rate is None or shape is None or first is None:
            return
        self._data_header = header
        rate.arrived(
            header,
            body.numbers,
            symbols=shape.symbols_of(header.block),
            symbol_bytes=first.symbol_bytes,
            now=now,
        )
        self._report_rate(now)

    def _report_rate(self, now: Instant) -> None:
        header = self._data_header
        if self._rate is None or header is None:
            return
        report = self._rate.due(now)
        if report is not None:
            self._ways.put(header, report, Flag(0), report.echo_us, now)

    def _try_to_decode(self, blocks: BlockTable, block: int) -> None:
        if blocks.begin_decoding(block):
            self._out.tell(BlockDecodable(self._item, block))

    def _finish_if_complete(self) -> None:
        if self._blocks is not None and not self.is_complete and self._blocks.is_complete:
            self.is_complete = True
            self._out.tell(ObjectComplete(self._item))

    def _stop(self, reason: str) -> None:
        self.is_stopped = True
        self._control.withdraw(Subscribe, item=self._item)
        self._out.tell(TransferStopped(self._item, reason))

    def _report(self, question: Question, now: Instant) -> None:
        blocks, first, node = self._blocks, self._first, self._out.node
        assert blocks is not None
        assert first is not None
        header = question.header
        stamp_us = held(header.stamp_us, now - question.asked_at)
        if question.round:
            parts = missing_report(node, blocks, first.repair, loss=self._loss.loss)
        else:
            parts = opening_report(node, blocks, loss=self._loss.loss)
        for body, flags in parts:
            self._ways.put(header, body, flags, stamp_us, now)
