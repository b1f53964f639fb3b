"""The rounds of one question: END, what is missing, repairs; again and again until all are done.

Of a file there is one, about all of it; of a stream one for each block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.publisher.announcements import Announcements
from penstock.bloomcast.publisher.generation import FreshSymbols, Repairs, Train
from penstock.bloomcast.publisher.pacing import Pacing
from penstock.bloomcast.publisher.unreached import Unreached
from penstock.bloomcast.segment.question import Question
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import stamp
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.transfer import ClosedBlock

_GENERATION_MAX: Final = 255
_DOUBLINGS_MAX: Final = 16


class Step(Enum):
    """Where the rounds are."""

    # A generation is being sent.
    SENDING = auto()
    # END has been said, and reports are waited for.
    COLLECTING = auto()
    # Repairs were sent: whether they have arrived will be said with a later block.
    RESTING = auto()
    # Nothing is needed, and yet not all are done: END will be said again.
    IDLE = auto()
    OVER = auto()
    # There are no more generations.
    SPENT = auto()


class _Timer(Enum):
    # The next copy of END.
    COPY = auto()
    # Reports are waited for no longer.
    COLLECTED = auto()
    # Those who have not answered are asked again.
    REMIND = auto()
    IDLE = auto()


class Rounds:
    """Of one question; they begin when all of generation 0 has been sent."""

    def __init__(
        self,
        head: SegmentHead,
        question: Question,
        say: Announcements,
        *,
        symbols: Mapping[int, int],
        pacing: Pacing,
        unreached: Unreached,
        settings: CastSettings,
        # Of a stream.
        block: int = 0,
        closed: Callable[[], tuple[ClosedBlock, ...]] = tuple,
    ) -> None:
        self._head: Final = head
        self._question: Final = question
        self._say: Final = say
        self._symbols: Final = symbols
        self._fresh: Final = FreshSymbols(symbols)
        self._pacing: Final = pacing
        self._unreached: Final = unreached
        self._settings: Final = settings.publisher
        self._head_settings: Final = settings.head
        self._block: Final = block
        self._closed: Final = closed
        self._timers: Final[Timers[_Timer]] = Timers()
        self._repairs: Repairs | None = None
        self._copies_left = 0
        self._remind_ns: Duration = 0
        # Generations in a row that had nothing to send, while not all were done.
        self._idle = 0
        self.generation = 0
        self.step = Step.SENDING

    def begin_epoch(self) -> None:
        """Generations are counted from 0 again."""
        self.generation, self.step, self._repairs = 0, Step.SENDING, None

    def next_train(self, symbols_max: int) -> Train | None:
        """The next repairs; None when there are none for now."""
        return None if self._repairs is None else self._repairs.next_train(symbols_max)

    def end(self, now: Instant) -> None:
        """All of a generation has been sent: asks what is missing."""
        question = self._question
        self.step, self._repairs = Step.COLLECTING, None
        silent = question.note_silence(self.generation, now)
        if silent:
            self._say.first(silent, now)
        question.open_round(self.generation + 1, stamp(now), now)
        if question.is_complete(self.generation + 1):
            self._collected(now)
            return
        self._copies_left = self._settings.copies
        self._send_copy(now)
        hold_ns = self._head.hold_ns()
        self._timers.set(_Timer.COLLECTED, now + question.patience_ns(hold_ns))
        self._poll(now)
        self._remind_ns = max(hold_ns, self._head_settings.remind_ns)
        self._timers.set(_Timer.REMIND, now + self._remind_ns)

    def rest(self) -> None:
        """All repairs of a generation have been sent, and nobody is asked whether they arrived."""
        self.step = Step.RESTING

    @property
    def is_first(self) -> bool:
        """Whether the first END has not been answered yet."""
        return not self.generation and self.step is Step.COLLECTING

    def on_settled(self, now: Instant) -> None:
        """Reports about other blocks may say that all are done here."""
        is_sent = bool(self.generation) and self.step is not Step.COLLECTING
        if is_sent and self._is_over(self.generation, now):
            self._timers.cancel(_Timer.IDLE)
            self.step = Step.OVER

    def came(self, ends: list[int], now: Instant) -> None:
        """These are new: they are asked, too."""
        if self.step is Step.COLLECTING:
            self._end(ends, now)

    def on_report(self, round_: int, now: Instant) -> None:
        """An end has said something new of a round."""
        if self._repairs is not None:
            if round_ == self.generation:
                self._repairs.look_again()
                if self.step is Step.RESTING:
                    self.step = Step.SENDING
                self._cut_idling_short(now)
        elif round_ == self._question.rounds.latest and self._question.is_complete(round_):
            self._collected(now)

    def wake(self, now: Instant) -> None:
        """Says what is due."""
        for timer in self._timers.due(now):
            if timer is _Timer.COPY:
                self._send_copy(now)
            elif timer is _Timer.COLLECTED:
                self._collected(now)
            elif timer is _Timer.REMIND:
                self._remind(now)
            elif self.step is Step.IDLE:
                self.end(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._timers.next_wakeup()

    # Parts of the above.

    def _collected(self, now: Instant) -> None:
        """All have reported, or the time is up."""
        self._timers.cancel(_Timer.COLLECTED)
        if self.step is not Step.COLLECTING:
            return
        self._timers.cancel(_Timer.COPY)
        round_ = self.generation + 1
        if self._is_over(round_, now):
            self.step = Step.OVER
            return
        if self.generation == _GENERATION_MAX:
            self.step = Step.SPENT
            return
        self.generation = round_
        needs_some = bool(self._question.rounds.blocks(round_))
        self._idle = 0 if needs_some else self._idle + 1
        self._repairs = Repairs(
            self._question,
            self._fresh,
            blocks=self._symbols,
            choice=self._settings.repair,
            generation=self.generation,
        )
        self.step = Step.SENDING
        if self._idle:
            self._wait_idly(now)

    def _wait_idly(self, now: Instant) -> None:
        """They decode, or cannot be reached: asking at once would use up all generations."""
        self.step = Step.IDLE
        settings = self._settings
        doublings = min(self._idle - 1, _DOUBLINGS_MAX)
        wait_ns = min(settings.idle_ns << doublings, settings.idle_max_ns)
        self._timers.set(_Timer.IDLE, max(self._pacing.next_at(now), now + wait_ns))

    def _cut_idling_short(self, now: Instant) -> None:
        """A late report says that there is something to do, or nothing any more."""
        if self._idle:
            if self._is_over(self.generation, now):
                self.step = Step.OVER
            elif self._question.rounds.blocks(self.generation):
                self._idle = 0
                self._timers.cancel(_Timer.IDLE)
                self.step = Step.SENDING

    def _is_over(self, round_: int, now: Instant) -> bool:
        """Whether all are done, but for those that could not be reached for long."""
        done, total = self._question.counts()
        if done < total or not self._question.is_complete(round_):
            self._unreached.others_are_waited_for()
            return False
        return not self._unreached.are_waited_for(now)

    def _remind(self, now: Instant) -> None:
        """Without FIRST no report finds its way."""
        if self.step is not Step.COLLECTING:
            return
        silent = self._question.unanswered(self._question.rounds.latest)
        if silent:
            self._say.first(silent, now)
            polled = self._poll(now)
            self._end([node for node in silent if node not in polled], now)
            self._remind_ns = min(2 * self._remind_ns, self._head_settings.remind_max_ns)
        self._timers.set(_Timer.REMIND, now + self._remind_ns)

    def _poll(self, now: Instant) -> list[int]:
        """The last chance of those who are about to be given up; returns who they are."""
        ends = self._question.nearly_lost()
        if ends:
            self._end(ends, now, is_poll=True)
        return ends

    def _send_copy(self, now: Instant) -> None:
        """END, several times; the reports to it are waited for from the first."""
        self._copies_left -= 1
        if self._copies_left:
            self._timers.set(_Timer.COPY, now + self._head.ends.round_trip_ns() // 2)
        self._end(self._question.asked(), now)

    def _end(self, ends: list[int] | None, now: Instant, *, is_poll: bool = False) -> None:
        self._say.end(
            ends,
            now,
            generation=self.generation,
            block=self._block,
            closed=self._closed(),
            is_poll=is_poll,
        )
