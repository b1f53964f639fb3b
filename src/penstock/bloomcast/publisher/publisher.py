"""The publisher of one transfer.

Waits for its plan, opens with FIRST, sends generation 0, asks with END what is missing, and repairs
in further generations until all are done.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.facts import EpochBegan, Offer, TransferBegan, TransferFinished
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.advertisement import advertisement
from penstock.bloomcast.publisher.announcements import Announcements
from penstock.bloomcast.publisher.generation import (
    FreshSymbols,
    Generation,
    Repairs,
    SourceSymbols,
)
from penstock.bloomcast.publisher.outcome import Outcome
from penstock.bloomcast.publisher.pacing import Pacing
from penstock.bloomcast.publisher.rate_control import RateControl
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead, round_of
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import stamp
from penstock.kernel.instant import SECOND, Duration, Instant, earliest
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, CastBody
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.membership import Unsubscribe
from penstock.wire.frames.cast.plan import Start
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import FirstRequest

_GENERATION_MAX: Final = 255
_DOUBLINGS_MAX: Final = 16


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
    # Those who have not answered are asked again.
    REMIND = auto()
    # The offer is repeated.
    ADVERTISE = auto()
    # Nobody has missed STOP.
    GONE = auto()


class Publisher:
    """Of one object."""

    def __init__(
        self,
        out: Outbox,
        offer: Offer,
        *,
        settings: CastSettings,
        forward: Forward,
        send_up: Callable[[CastBody, Instant], None],
    ) -> None:
        self.offer: Final = offer
        self._send_up: Final = send_up
        self._out: Final = out
        self._settings: Final = settings.publisher
        self._head_settings: Final = settings.head
        self.head: Final = SegmentHead(out, offer.item, settings=settings, forward=forward)
        self._pages: Final = PlanPages()
        self._rate: Final = RateControl(
            settings.rate,
            rate_max_bps=settings.publisher.rate_bps,
            symbol_bytes=offer.symbol_bytes,
        )
        self._is_controlled: Final = settings.rate.is_controlled
        self._pacing: Final = Pacing(self._rate.rate_bps)
        # Left behind, as they bear less than the minimum.
        self._slow: Final[dict[int, None]] = {}
        # Source symbols by block, in the order of sending.
        self._blocks: Final[dict[int, int]] = {}
        if offer.manifest_symbols:
            self._blocks[MANIFEST_BLOCK] = offer.manifest_symbols
        self._blocks.update(enumerate(offer.block_symbols))
        self.head.symbols_of = lambda block: self._blocks.get(block, 0)
        self._fresh: Final = FreshSymbols(self._blocks)
        self._say: Final = Announcements(self.head, offer, settings.publisher.repair)
        self._timers: Final[Timers[_Timer]] = Timers()
        self._trains: Generation | None = None
        self._copies_left = 0
        self._remind_ns: Duration = 0
        # Generations in a row that had nothing to send, while not all were done.
        self._idle = 0
        # Since when all are done but those that nobody can reach.
        self._missed_since: Instant | None = None
        self.outcome: Final = Outcome(out)
        self.phase = Phase.WAITING
        # Nothing more is to be said.
        self.is_gone = False

    def advertise(self, now: Instant) -> None:
        """Tells the controller, until there is a plan."""
        if self.phase is Phase.STOPPED:
            return
        offer, receivers = self.offer, self.offer.receivers
        if self.phase is Phase.WAITING:
            self._timers.set(_Timer.ADVERTISE, now + self._settings.advertise_ns)
        else:
            # A controller that has restarted is to plan when it knows all of them again.
            _done, receivers = self.head.ends.counts()
        node = self._out.node
        body = advertisement(offer, publisher=node, epoch=self._say.epoch, receivers=receivers)
        self._send_up(body, now)

    def on_unanswered(self, now: Instant) -> None:
        """ADVERTISE was not answered."""
        if self.phase is not Phase.STOPPED:
            self._timers.set(_Timer.ADVERTISE, now + self._settings.advertise_ns)

    def configure(self, config: Start, now: Instant) -> None:
        """Takes a page of its plan; the first plan starts the transfer."""
        plan = self._pages.add(config)
        if plan is None or self.phase is Phase.STOPPED:
            return
        came = self.head.apply(plan)
        if self.phase is Phase.WAITING:
            if self.head.is_configured:
                self._timers.cancel(_Timer.ADVERTISE)
                self._out.tell(TransferBegan(self.offer.item))
                self._open(now)
        elif came:
            self._say.first(came, now)
            if self.phase is Phase.COLLECTING:
                self._say.end(came, now)

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """An end says what it needs."""
        if self.phase is Phase.STOPPED:
            # It has missed STOP.
            self._say.stop([report.child], now)
            return
        if not self.head.on_report(header, report, now):
            return
        round_ = round_of(header)
        if self.phase is Phase.SENDING and isinstance(self._trains, Repairs):
            if round_ == self._say.generation:
                self._trains.look_again()
                self._cut_idling_short(now)
        elif round_ == self.head.rounds.latest and self.head.is_complete(round_):
            self._collected(now)

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """An end has missed FIRST."""
        if self.phase is not Phase.WAITING:
            self._say.first([request.child], now)

    def on_rate(self, header: Header, report: AllowedRate, now: Instant) -> None:
        """A receiver says what rate it allows."""
        if header.generation or not self._is_controlled:
            return
        child = report.child
        if child in self._slow or self._rate.is_slow(report, now):
            self._leave_behind(child, now)
        else:
            self._say_rate(self._rate.on_report(report, now), now)

    def wake(self, now: Instant) -> None:
        """Sends what is due."""
        self._say_rate(self._rate.wake(now), now)
        for timer in self._timers.due(now):
            if timer is _Timer.COPY:
                self._send_copy(now)
            elif timer is _Timer.TRAIN:
                self._send_train(now)
            elif timer is _Timer.REMIND:
                self._remind(now)
            elif timer is _Timer.ADVERTISE:
                self.advertise(now)
            elif timer is _Timer.GONE:
                self.outcome.tell()
                self.is_gone = True
            else:
                self._collected(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(self._timers.next_wakeup(), self._rate.next_wakeup())

    # Phases.

    def _open(self, now: Instant) -> None:
        self.phase = Phase.OPENING
        self.head.open_round(0, stamp(now), now)
        self._begin_copies(now)

    def _collected(self, now: Instant) -> None:
        """All have reported, or the time is up."""
        self._timers.cancel(_Timer.COLLECTED)
        if self.phase is Phase.OPENING:
            self._begin(SourceSymbols(self._blocks, self.head), now)
            self._begin_rate(now)
            self._remind_ns = self._head_settings.remind_ns
            self._timers.set(_Timer.REMIND, now + self._remind_ns)
            return
        if self.phase is not Phase.COLLECTING:
            return
        self._timers.cancel(_Timer.COPY)
        round_ = self._say.generation + 1
        if self._is_over(round_, now):
            self._stop(now)
            return
        if self._say.generation == _GENERATION_MAX:
            self._begin_epoch(now)
            return
        self._say.generation = round_
        needs_some = bool(self.head.rounds.blocks(round_))
        self._idle = 0 if needs_some else self._idle + 1
        repairs = Repairs(
            self.head,
            self._fresh,
            blocks=self._blocks,
            choice=self._settings.repair,
            generation=self._say.generation,
        )
        self._begin(repairs, now)

    def _is_over(self, round_: int, now: Instant) -> bool:
        """Whether all are done, but for those that could not be reached for long."""
        ends = self.head.ends
        done, total = ends.counts()
        if done < total or not self.head.is_complete(round_):
            self._missed_since = None
            return False
        if not self.head.left_out and (len(ends) or not ends.failed):
            return True
        if self._missed_since is None:
            self._missed_since = now
        settings = self._head_settings
        patience_ns = settings.silence_ns if len(ends) else settings.unreached_ns
        return now - self._missed_since >= patience_ns

    def _begin_epoch(self, now: Instant) -> None:
        """There are no more generations: begins again, with what is still needed."""
        self._say.epoch = self._say.epoch + 1 & 0xFFFF_FFFF
        self._say.generation = 0
        self.head.begin_epoch()
        self._out.tell(EpochBegan(self.offer.item, self._say.epoch))
        self._open(now)

    def _begin(self, trains: Generation, now: Instant) -> None:
        self.phase = Phase.SENDING
        self._trains = trains
        at = self._pacing.next_at(now)
        if self._idle:
            # They decode, or cannot be reached: asking at once would use up all generations.
            settings = self._settings
            doublings = min(self._idle - 1, _DOUBLINGS_MAX)
            at = max(at, now + min(settings.idle_ns << doublings, settings.idle_max_ns))
        self._timers.set(_Timer.TRAIN, at)

    def _cut_idling_short(self, now: Instant) -> None:
        """A late report says that there is something to do, or nothing any more."""
        if self._idle:
            if self._is_over(self._say.generation, now):
                self._stop(now)
            elif self.head.rounds.blocks(self._say.generation):
                self._idle = 0
                self._timers.set(_Timer.TRAIN, self._pacing.next_at(now))

    def _remind(self, now: Instant) -> None:
        """Without FIRST all of generation 0 is lost on an end, and no report finds its way."""
        is_collecting = self.phase is Phase.COLLECTING
        if not is_collecting and (self.phase is not Phase.SENDING or self._say.generation):
            return
        silent = self.head.unanswered(self.head.rounds.latest)
        if silent:
            self._say.first(silent, now)
            if is_collecting:
                polled = self._poll(now)
                self._say.end([node for node in silent if node not in polled], now)
            self._remind_ns = min(2 * self._remind_ns, self._head_settings.remind_max_ns)
        self._timers.set(_Timer.REMIND, now + self._remind_ns)

    def _poll(self, now: Instant) -> list[int]:
        """The last chance of those who are about to be given up; returns who they are."""
        ends = self.head.nearly_lost(self.head.rounds.latest)
        if ends:
            self._say.end(ends, now, is_poll=True)
        return ends

    def _send_train(self, now: Instant) -> None:
        assert self._trains is not None
        train = self._trains.next_train(self._train_symbols())
        if train is None:
            self._end(now)
            return
        self._say.symbols(train, now)
        self._pacing.sent(len(train.numbers) * self.offer.symbol_bytes, now)
        self._timers.set(_Timer.TRAIN, self._pacing.next_at(now))

    def _train_symbols(self) -> int:
        """A train is one burst: it must not fill a queue that the rate would not."""
        settings = self._settings
        if not self._is_controlled:
            return settings.train_symbols
        size_bytes = self._rate.rate_bps * settings.train_ns // SECOND
        return max(1, min(size_bytes // self.offer.symbol_bytes, settings.train_symbols))

    def _end(self, now: Instant) -> None:
        self.phase = Phase.COLLECTING
        self._rate.end(now)
        self._pacing.rate_bps = self._rate.rate_bps
        self._trains = None
        silent = self.head.note_silence(self._say.generation, now)
        if silent:
            self._say.first(silent, now)
        self.head.open_round(self._say.generation + 1, stamp(now), now)
        if self.head.is_complete(self._say.generation + 1):
            self._collected(now)
        else:
            self._begin_copies(now)
            self._poll(now)
            self._remind_ns = max(self.head.hold_ns(), self._head_settings.remind_ns)
            self._timers.set(_Timer.REMIND, now + self._remind_ns)

    def _stop(self, now: Instant) -> None:
        self.phase = Phase.STOPPED
        for timer in _Timer:
            self._timers.cancel(timer)
        self._timers.set(_Timer.GONE, now + self._head_settings.linger_ns)
        self._begin_copies(now)
        done, _total = self.head.ends.counts()
        others = dict.fromkeys([*self.head.ends.all_failed(), *self.head.left_out])
        failed = tuple({**self._slow, **others})
        finished = TransferFinished(self.offer.item, done, failed)
        self._send_up(self.outcome.end(finished), now)

    # The rate.

    def _begin_rate(self, now: Instant) -> None:
        if not self._is_controlled or not len(self.head.ends):
            return
        farthest = max(self.head.ends, key=lambda end: end.round_trip_ns or 0)
        self._say_rate(self._rate.begin(farthest.node, farthest.round_trip_ns, now), now)

    def _say_rate(self, body: RateInForce | None, now: Instant) -> None:
        if body is not None:
            self._pacing.rate_bps = self._rate.rate_bps
            self._say.rate(body, now)

    def _leave_behind(self, child: int, now: Instant) -> None:
        """A receiver is too slow for the others: it leaves the plan, and is told."""
        self._say.stop([child], now, reason="slow")
        if child in self._slow:
            return
        self._slow[child] = None
        self._send_up(Unsubscribe(subscriber=child, reason="slow"), now)
        self._say_rate(self._rate.left(child, now), now)

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
            self._say.first(None, now)
        elif self.phase is Phase.COLLECTING:
            self._say.end(self.head.asked(), now)
        else:
            self._say.stop(None, now)
