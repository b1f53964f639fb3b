"""The subscriber of one item: takes symbols, answers END with what it lacks, says when it is done.

Holds numbers only; the driver has the bytes, decodes, and says what came of it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import Held, TransferStopped, Verdict
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.questions import OPENING
from penstock.bloomcast.settings import RateSettings, SubscriberSettings
from penstock.bloomcast.stamps import held
from penstock.bloomcast.subscriber.file_reception import FileReception
from penstock.bloomcast.subscriber.object_shape import is_same_object
from penstock.bloomcast.subscriber.rate_reporter import RateReporter
from penstock.bloomcast.subscriber.reception import Reception
from penstock.bloomcast.subscriber.reporter import Question
from penstock.bloomcast.subscriber.stream_reception import StreamReception
from penstock.bloomcast.subscriber.way_back import SendBack, WaysBack
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Duration, Instant, earliest
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.membership import ObjectKind, Subscribe, Unsubscribe
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
        kind: ObjectKind = ObjectKind.FILE,
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
        self._kind: Final = kind
        self._held: Final = held
        self._timers: Final[Timers[_Timer]] = Timers()
        # Both are there from the first FIRST on.
        self._first: First | None = None
        self._reception: Reception | None = None
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
            if self._reception is not None:
                self._reception.on_stop(header, body)
            self._stop(
                "" if self.is_complete else body.reason or "ended without this receiver", now
            )
        else:
            return
        self._timers.set(_Timer.SILENCE, now + self._settings.silence_ns)
        self._heard_at, self._resubscribe_ns = now, self._settings.resubscribe_ns

    def _on_first(
        self, header: Header, body: First, origin: Origin, via: Port, now: Instant
    ) -> None:
        first, reception = self._first, self._reception
        try:
            if body.kind != self._kind:
                self._stop(f"the sender has a {body.kind.name.lower()}", now)
                return
            if first is None or reception is None:
                reception = self._begin(header, body)
            elif body.epoch != first.epoch:
                if body.epoch in self._past_epochs:
                    return
                self._past_epochs[first.epoch] = None
                if not is_same_object(body, first):
                    self._stop("the sender has another object now", now)
                    return
                reception = self._begin_epoch(reception, header, body)
        except PeerError:
            # Nobody can send such an object: the frame is counted as lost.
            return
        self._first, self._reception = body, reception
        self._ways.opened(header, body, via, origin)
        if header.generation == 0:
            self._ways.asked(OPENING, Question(0, header, now, delta_ns(body.hold_100us)))
        reception.on_first(header, body)

    def _begin(self, header: Header, first: First) -> Reception:
        if self._kind is ObjectKind.STREAM:
            return StreamReception(self._out, self._item, header, first)
        return FileReception(self._out, self._item, first, self._held)

    def _begin_epoch(self, reception: Reception, header: Header, first: First) -> Reception:
        """The publisher has begun again."""
        self._ways.clear()
        self._rate = self._new_rate()
        self._data_header = None
        return reception.begin_epoch(header, first)

    def _new_rate(self) -> RateReporter | None:
        settings = self._rate_settings
        if not settings.is_controlled:
            return None
        return RateReporter(self._seeds, settings, node=self._out.node)

    def _on_symbols(self, header: Header, body: Symbols, now: Instant) -> None:
        reception = self._reception
        symbols = 0 if reception is None else reception.rated_symbols(header, body.numbers)
        if reception is None or not symbols:
            return
        self._ways.answered(reception.key_of(header), header.generation)
        if header.generation == 0:
            self._on_rated(header, body, symbols, now)
        reception.on_symbols(header, body.numbers)

    def _on_end(self, header: Header, body: End, now: Instant) -> None:
        way, reception = self._ways.get(header.segment), self._reception
        if reception is None or way is None:
            # Whose END it is will send FIRST again, as it is not answered.
            return
        reception.on_end(header, body)
        self._ways.over_before(body.first_block)
        if header.generation == 0 and self._rate is not None and not body.closed:
            self._rate.ended()
        if header.plan != way.plan:
            self._request_first(header, now)
        question = Question(header.generation + 1, header, now, delta_ns(body.hold_100us))
        self._ways.asked(reception.key_of(header), question)

    @property
    def is_opened(self) -> bool:
        """Whether FIRST has come."""
        return self._first is not None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, nor will be."""
        return self._reception is not None and self._reception.is_complete

    # The driver.

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""
        if self._reception is not None:
            self._reception.decoded(block, verdict)

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
                self._stop("" if self.is_complete else "silent", now)
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

    def _on_rated(self, header: Header, body: Symbols, symbols: int, now: Instant) -> None:
        """Symbols of generation 0, by which the rate is judged."""
        rate, first = self._rate, self._first
        if rate is None or first is None:
            return
        self._data_header = header
        rate.arrived(
            header,
            body.numbers,
            symbols=symbols,
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

    def _stop(self, reason: str, now: Instant) -> None:
        self.is_stopped = True
        if self._control.is_saying(Subscribe, self._item):
            # It may reach the controller after the transfer's end, which would then wait for it.
            self._control.withdraw(Subscribe, item=self._item)
            body = Unsubscribe(subscriber=self._out.node, reason="stopped")
            self._control.send_up(body, item=self._item, now=now)
        self._out.tell(TransferStopped(self._item, reason))

    def _report(self, question: Question, now: Instant) -> None:
        assert self._reception is not None
        header = question.header
        stamp_us = held(header.stamp_us, now - question.asked_at)
        lacks_from = self._reception.lacks_from
        for body, flags in self._reception.report(question):
            self._ways.put(header, body, flags, stamp_us, now, lacks_from=lacks_from)
