"""The publisher of one transfer.

Waits for its plan, opens with FIRST, sends what its contents are, and stops when all are done.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.facts import EpochBegan, Offer, TransferBegan, TransferFinished
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.advertisement import advertisement
from penstock.bloomcast.publisher.announcements import Announcements
from penstock.bloomcast.publisher.contents import Contents, Session
from penstock.bloomcast.publisher.file_contents import FileContents
from penstock.bloomcast.publisher.outcome import Outcome
from penstock.bloomcast.publisher.sending_rate import SendingRate
from penstock.bloomcast.publisher.silence_watch import Silence, SilenceWatch
from penstock.bloomcast.publisher.stream_contents import StreamContents
from penstock.bloomcast.publisher.unreached import Unreached
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import stamp
from penstock.kernel.instant import Duration, Instant, earliest
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import CastBody
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.plan import Start
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.transfer import FirstRequest

# A receiver that waits, or is done, hears nothing of what is sent to others: it gives up unless one
# of so many signs of life arrives.
_SIGNS_OF_LIFE: Final = 4


class Phase(Enum):
    """Where a transfer is."""

    WAITING = auto()
    OPENING = auto()
    SENDING = auto()
    COLLECTING = auto()
    STOPPED = auto()


class _Timer(Enum):
    """What a publisher waits for."""

    # The next copy of FIRST or STOP.
    COPY = auto()
    TRAIN = auto()
    # Answers to FIRST are waited for no longer.
    OPENED = auto()
    # Those who have not answered are asked again.
    REMIND = auto()
    # Whether anybody was heard meanwhile.
    WATCH = auto()
    # Who is not sent anything is to know that it goes on.
    ALIVE = auto()
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
        self._alive_ns: Final[Duration] = settings.subscriber.silence_ns // _SIGNS_OF_LIFE
        self.head: Final = SegmentHead(out, offer.item, settings=settings, forward=forward)
        self._pages: Final = PlanPages()
        self._say: Final = Announcements(self.head, offer, settings.publisher.repair)
        self._rate: Final = SendingRate(settings, offer, self.head, self._say, send_up=send_up)
        is_stream = offer.kind is ObjectKind.STREAM
        session = Session(
            self.head,
            self._say,
            self._rate.pacing,
            Unreached(self.head, settings.head, is_of_stream=is_stream),
            settings,
        )
        # What its application writes; None: a file is there from the beginning.
        self._stream: Final = StreamContents(out, offer, session) if is_stream else None
        self._contents: Final[Contents] = self._stream or FileContents(offer, session)
        self._watch: Final = SilenceWatch(settings.head)
        self._timers: Final[Timers[_Timer]] = Timers()
        self._copies_left = 0
        self._remind_ns: Duration = 0
        self.outcome: Final = Outcome(out)
        # Why it has ended before all were done.
        self._reason = ""
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
            _done, receivers = self._contents.counts()
        node = self._out.node
        body = advertisement(offer, publisher=node, epoch=self._say.epoch, receivers=receivers)
        self._send_up(body, now)

    # The writer of a stream.

    def write(self, symbols: int, now: Instant) -> int:
        """Takes symbols as they come; returns for how many of them there is room."""
        assert self._stream is not None, self.offer.item
        taken = self._stream.write(symbols, now)
        self._follow(now)
        return taken

    def closed(self, block: int, digest: bytes, now: Instant) -> None:
        """The hash of a block that was filled."""
        if self._stream is not None:
            self._stream.closed(block, digest)
            self._follow(now)

    def finish(self, now: Instant) -> None:
        """Nothing more will be written."""
        assert self._stream is not None, self.offer.item
        self._stream.finish()
        self._follow(now)

    def withdraw(self, reason: str, now: Instant) -> None:
        """Ends before all are done: receivers are told why, and keep what they have."""
        if self.phase is not Phase.STOPPED:
            self._reason = reason
            self._stop(now)

    # The controller.

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
            self._watch.heard()
            self._say.first(came, now)
            if self.phase is Phase.SENDING:
                self._contents.came(came, now)

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """An end says what it needs."""
        if self.phase is Phase.STOPPED:
            # It has missed STOP.
            self._say_stop([report.child], now)
            return
        self._watch.answered()
        if not self.head.on_report(header, report, now):
            return
        if self.phase is Phase.OPENING:
            self._open_if_answered(now)
        elif self.phase is Phase.SENDING:
            self._contents.on_report(header, now)
            self._follow(now)

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """An end has missed FIRST."""
        if self.phase is not Phase.WAITING:
            self._watch.answered()
            self._say.first([request.child], now)

    def on_rate(self, header: Header, report: AllowedRate, now: Instant) -> None:
        """A receiver says what rate it allows."""
        if self._rate.is_controlled and not header.generation:
            self._watch.heard()
            self._rate.on_report(report, now)

    def wake(self, now: Instant) -> None:
        """Sends what is due."""
        self._rate.wake(now, may_pause=self._stream is not None)
        for timer in self._timers.due(now):
            if timer is _Timer.COPY:
                self._send_copy(now)
            elif timer is _Timer.TRAIN:
                self._send_train(now)
            elif timer is _Timer.REMIND:
                self._remind(now)
            elif timer is _Timer.WATCH:
                self._look_for_silence(now)
            elif timer is _Timer.ALIVE:
                self._say_alive(now)
            elif timer is _Timer.ADVERTISE:
                self.advertise(now)
            elif timer is _Timer.GONE:
                self.outcome.tell()
                self.is_gone = True
            elif self.phase is Phase.OPENING:
                self._begin(now)
        if self.phase is Phase.SENDING:
            self._contents.wake(now)
            self._follow(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        contents_at = self._contents.next_wakeup() if self.phase is Phase.SENDING else None
        return earliest(self._timers.next_wakeup(), contents_at, self._rate.next_wakeup())

    # Phases.

    def _open(self, now: Instant) -> None:
        self.phase = Phase.OPENING
        question = self.head.questions.opening
        question.open_round(0, stamp(now), now)
        self._begin_copies(now)
        patience_ns = question.patience_ns(self.head.hold_ns())
        self._timers.set(_Timer.OPENED, now + patience_ns)

    def _open_if_answered(self, now: Instant) -> None:
        if self.head.questions.opening.is_complete(0):
            self._begin(now)

    def _begin(self, now: Instant) -> None:
        """All have answered FIRST, or the time is up."""
        self._timers.cancel(_Timer.OPENED)
        self.phase = Phase.SENDING
        self._contents.begin(now)
        self._follow(now)
        self._rate.begin(now)
        self._remind_ns = self._head_settings.remind_ns
        self._timers.set(_Timer.REMIND, now + self._remind_ns)
        self._watch.heard()
        self._timers.set(_Timer.WATCH, now + self._watch.interval_ns)
        self._timers.set(_Timer.ALIVE, now + self._alive_ns)

    def _follow(self, now: Instant) -> None:
        """Does what follows from how far the contents are."""
        if self.phase is not Phase.SENDING:
            return
        if not self._contents.is_unasked:
            # Whoever does not answer END is sent FIRST again, too.
            self._timers.cancel(_Timer.COPY)
            self._timers.cancel(_Timer.REMIND)
        if self._contents.is_over:
            self._stop(now)
        elif self._contents.is_spent:
            self._begin_epoch(now)
        elif self._contents.is_sending and _Timer.TRAIN not in self._timers:
            self._timers.set(_Timer.TRAIN, self._rate.pacing.next_at(now))

    def _begin_epoch(self, now: Instant) -> None:
        """There are no more generations: begins again, with what is still needed."""
        self._say.epoch = self._say.epoch + 1 & 0xFFFF_FFFF
        self._contents.begin_epoch()
        self.head.begin_epoch()
        self._out.tell(EpochBegan(self.offer.item, self._say.epoch))
        self._open(now)

    def _remind(self, now: Instant) -> None:
        """Without FIRST all of generation 0 is lost on an end."""
        if self.phase is not Phase.SENDING or not self._contents.is_unasked:
            return
        silent = self.head.questions.opening.unanswered(0)
        if silent:
            self._say.first(silent, now)
            self._remind_ns = min(2 * self._remind_ns, self._head_settings.remind_max_ns)
        self._timers.set(_Timer.REMIND, now + self._remind_ns)

    def _say_alive(self, now: Instant) -> None:
        """FIRST to all, when they have heard nothing else for long."""
        if self._say.told_all_at + self._alive_ns <= now:
            self._say.first(None, now)
        self._timers.set(_Timer.ALIVE, self._say.told_all_at + self._alive_ns)

    def _look_for_silence(self, now: Instant) -> None:
        """Symbols that nobody gets are not sent for ever."""
        if self.phase is not Phase.SENDING or not self._rate.is_running:
            return
        self._timers.set(_Timer.WATCH, now + self._watch.interval_ns)
        silence = self._watch.look()
        if silence is Silence.ASK:
            self._say.first(None, now, is_poll=True)
        elif silence is Silence.NOBODY:
            self.head.questions.opening.give_up_all()
            self._stop(now)

    def _send_train(self, now: Instant) -> None:
        train = self._contents.next_train(self._rate.train_symbols(), now)
        if train is not None:
            self._say.symbols(train, now)
            self._rate.sent(len(train.numbers), now, is_repair=train.is_repair)
            if not train.is_repair:
                self._watch.sent(len(train.numbers))
        elif self._stream is None and not self._contents.is_unasked:
            self._rate.end(now)
        self._follow(now)

    def _stop(self, now: Instant) -> None:
        self.phase = Phase.STOPPED
        for timer in _Timer:
            self._timers.cancel(timer)
        self._timers.set(_Timer.GONE, now + self._head_settings.linger_ns)
        self._begin_copies(now)
        done, _total = self._contents.counts()
        others = dict.fromkeys([*self.head.ends.all_failed(), *self.head.left_out])
        failed = tuple({**self._rate.slow, **others})
        finished = TransferFinished(self.offer.item, done, failed)
        self._send_up(self.outcome.end(finished), now)

    def _say_stop(self, ends: list[int] | None, now: Instant) -> None:
        done, _total = self._contents.counts()
        block = self._contents.end_block
        self._say.stop(ends, now, done=done, block=block, reason=self._reason)

    # Frames.

    def _begin_copies(self, now: Instant) -> None:
        """FIRST or STOP, several times."""
        self._copies_left = self._settings.copies
        self._send_copy(now)

    def _send_copy(self, now: Instant) -> None:
        self._copies_left -= 1
        if self._copies_left:
            self._timers.set(_Timer.COPY, now + self.head.ends.round_trip_ns() // 2)
        if self.phase is Phase.STOPPED:
            self._say_stop(None, now)
        else:
            self._say.first(None, now)
