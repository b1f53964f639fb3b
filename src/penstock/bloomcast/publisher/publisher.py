"""The publisher of one transfer.

Waits for its plan, opens with FIRST, sends generation 0, asks with END what is missing, and repairs
in further generations until all are done.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.facts import Offer, TransferFinished
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.generation import (
    FreshSymbols,
    Generation,
    Repairs,
    SourceSymbols,
    Train,
)
from penstock.bloomcast.publisher.pacing import Pacing
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead, round_of, with_way_back
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import MICROSECOND, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import FAILED_MAX, MANIFEST_BLOCK, CastBody
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.plan import SegmentFilter, Start
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop
from penstock.wire.quantise import hold_100us

_STAMP_MASK: Final = 0xFFFF_FFFF
_GENERATION_MAX: Final = 255
_NO_FLAGS: Final = Flag(0)


class Phase(Enum):
    """Where a transfer is."""

    WAITING = auto()
    OPENING = auto()
    SENDING = auto()
    COLLECTING = auto()
    STOPPED = auto()


class _Timer(Enum):
    """What a publisher waits for."""

    # The next copy of FIRST, END or STOP.
    COPY = auto()
    TRAIN = auto()
    # Reports are waited for no longer.
    COLLECTED = auto()


class Publisher:
    """Of one object."""

    def __init__(
        self,
        out: Outbox,
        offer: Offer,
        *,
        settings: CastSettings,
        forward: Forward,
        on_stopped: Callable[[Stop, Instant], None],
    ) -> None:
        self.offer: Final = offer
        self._on_stopped: Final = on_stopped
        self._out: Final = out
        self._settings: Final = settings.publisher
        self.head: Final = SegmentHead(out, offer.item, settings=settings, forward=forward)
        self._pages: Final = PlanPages()
        self._pacing: Final = Pacing(settings.publisher.rate_bps)
        # Source symbols by block, in the order of sending.
        self._blocks: Final[dict[int, int]] = {}
        if offer.manifest_symbols:
            self._blocks[MANIFEST_BLOCK] = offer.manifest_symbols
        self._blocks.update(enumerate(offer.block_symbols))
        self._fresh: Final = FreshSymbols(self._blocks)
        self._timers: Final[Timers[_Timer]] = Timers()
        self._generation = 0
        self._trains: Generation | None = None
        self._copies_left = 0
        self.phase = Phase.WAITING

    def configure(self, config: Start, now: Instant) -> None:
        """Takes a page of its plan; the first plan starts the transfer."""
        plan = self._pages.add(config)
        if plan is None or self.phase is Phase.STOPPED:
            return
        came = self.head.apply(plan)
        if self.phase is Phase.WAITING:
            if self.head.is_configured:
                self._open(now)
        elif came:
            self._send_first(came, now)

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """An end says what it needs."""
        if not self.head.on_report(header, report, now):
            return
        round_ = round_of(header)
        if self.phase is Phase.SENDING and isinstance(self._trains, Repairs):
            if round_ == self._generation:
                self._trains.look_again()
        elif round_ == self.head.rounds.latest and self.head.is_complete(round_):
            self._collected(now)

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """An end has missed FIRST."""
        if self.phase is not Phase.WAITING:
            self._send_first([request.child], now)

    def wake(self, now: Instant) -> None:
        """Sends what is due."""
        for timer in self._timers.due(now):
            if timer is _Timer.COPY:
                self._send_copy(now)
            elif timer is _Timer.TRAIN:
                self._send_train(now)
            else:
                self._collected(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._timers.next_wakeup()

    # Phases.

    def _open(self, now: Instant) -> None:
        self.phase = Phase.OPENING
        self.head.open_round(0, _stamp(now), now)
        self._begin_copies(now)

    def _collected(self, now: Instant) -> None:
        """All have reported, or the time is up."""
        self._timers.cancel(_Timer.COLLECTED)
        if self.phase is Phase.OPENING:
            self._begin(SourceSymbols(self._blocks, self._settings.train_symbols), now)
            return
        if self.phase is not Phase.COLLECTING:
            return
        self._timers.cancel(_Timer.COPY)
        done, total = self.head.ends.counts()
        round_ = self._generation + 1
        is_over = done == total and self.head.is_complete(round_)
        if is_over or self._generation == _GENERATION_MAX or not len(self.head.ends):
            self._stop(now)
            return
        self._generation = round_
        repairs = Repairs(
            self.head,
            self._fresh,
            generation=self._generation,
            train_symbols=self._settings.train_symbols,
        )
        self._begin(repairs, now)

    def _begin(self, trains: Generation, now: Instant) -> None:
        self.phase = Phase.SENDING
        self._trains = trains
        self._timers.set(_Timer.TRAIN, self._pacing.next_at(now))

    def _send_train(self, now: Instant) -> None:
        assert self._trains is not None
        train = self._trains.next_train()
        if train is None:
            self._end(now)
            return
        self._put(train, now)
        self._pacing.sent(len(train.numbers) * self.offer.symbol_bytes, now)
        self._timers.set(_Timer.TRAIN, self._pacing.next_at(now))

    def _end(self, now: Instant) -> None:
        self.phase = Phase.COLLECTING
        self._trains = None
        silent = self.head.note_silence(self._generation, now)
        if silent:
            self._send_first(silent, now)
        self.head.open_round(self._generation + 1, _stamp(now), now)
        self._begin_copies(now)

    def _stop(self, now: Instant) -> None:
        self.phase = Phase.STOPPED
        self._begin_copies(now)
        done, _total = self.head.ends.counts()
        failed = tuple(self.head.ends.all_failed())
        self._on_stopped(Stop(done=done, failed=failed[:FAILED_MAX]), now)
        self._out.tell(TransferFinished(self.offer.item, done, failed))

    # Frames.

    def _begin_copies(self, now: Instant) -> None:
        """FIRST, END or STOP, several times; the reports to it are waited for from the first."""
        self._copies_left = self._settings.copies
        self._send_copy(now)
        if self.phase is not Phase.STOPPED:
            self._timers.set(_Timer.COLLECTED, now + self.head.patience_ns())

    def _send_copy(self, now: Instant) -> None:
        self._copies_left -= 1
        if self._copies_left:
            self._timers.set(_Timer.COPY, now + self.head.ends.round_trip_ns() // 2)
        if self.phase is Phase.OPENING or self.phase is Phase.SENDING:
            self._send_first(None, now)
        elif self.phase is Phase.COLLECTING:
            body = End(
                first_block=0,
                last_block=max(0, len(self.offer.block_symbols) - 1),
                hold_100us=hold_100us(self.head.hold_ns()),
            )
            self.head.send_all(self._header(now), lambda _segment: body)
        else:
            done, _total = self.head.ends.counts()
            stop = Stop(done=done)
            self.head.send_all(self._header(now), lambda _segment: stop)

    def _send_first(self, ends: list[int] | None, now: Instant) -> None:
        offer, hold_ns = self.offer, self.head.hold_ns()
        first = First(
            up_choice=0,
            up_links=0,
            up_ttl=0,
            epoch=offer.epoch,
            object_id=offer.object_id,
            kind=offer.kind,
            length_bytes=offer.length_bytes,
            symbol_bytes=offer.symbol_bytes,
            blocks=len(offer.block_symbols),
            block_symbols=max(offer.block_symbols, default=0),
            manifest_bytes=offer.manifest_bytes,
            hold_100us=0,
        )

        def make(segment: SegmentFilter) -> CastBody:
            return with_way_back(first, segment, hold_ns)

        if ends is None:
            self.head.send_all(self._header(now), make)
        else:
            self.head.send_to(ends, self._header(now), make)

    def _put(self, train: Train, now: Instant) -> None:
        body = Symbols(numbers=train.numbers)
        flags = Flag.REPAIR if train.is_repair else _NO_FLAGS
        header = self._header(
            now,
            block=train.block,
            symbol=train.numbers[0],
            flags=flags | Flag.PLAIN if self.offer.is_plain else flags,
        )
        if train.ends is None:
            self.head.send_all(header, lambda _segment: body, has_origin=False)
        else:
            self.head.send_to(train.ends, header, lambda _segment: body, has_origin=False)

    def _header(
        self, now: Instant, *, block: int = 0, symbol: int = 0, flags: Flag = _NO_FLAGS
    ) -> Header:
        """Where it goes is the head's to say."""
        return Header(
            ttl=0,
            choice=0,
            links=0,
            flags=flags,
            generation=self._generation,
            block=block,
            symbol=symbol,
            stamp_us=_stamp(now),
        )


def _stamp(now: Instant) -> int:
    return now // MICROSECOND & _STAMP_MASK
