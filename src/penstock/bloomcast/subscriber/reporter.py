"""When a subscriber answers FIRST and END, and how often it repeats the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.settings import SubscriberSettings
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.header import Flag, Header


@dataclass(frozen=True, slots=True)
class Question:
    """A FIRST or an END to answer."""

    round: int
    header: Header
    asked_at: Instant
    # How long the asker waits for reports.
    hold_ns: Duration

    @property
    def is_poll(self) -> bool:
        """Whether the asker gives up on those who do not answer at once."""
        return bool(self.header.flags & Flag.POLL)


class Reporter:
    """One answer to each round, after a short random time; again while nothing comes of it."""

    def __init__(
        self, seeds: Seeds, settings: SubscriberSettings, *, is_of_block: bool = False
    ) -> None:
        self._rng: Final = seeds.rng("report")
        self._settings: Final = settings
        # Of a stream, the next block is asked about soon, and heads ask again anyway.
        self._repeats_max: Final = 0 if is_of_block else settings.report_repeats_max
        self._question: Question | None = None
        self._round = -1
        self._due_at: Instant | None = None
        self._repeats = 0

    def asked(self, question: Question) -> None:
        """A copy of a question is none, unless the answer is waited for with little patience."""
        is_new = self._is_new(question.round)
        if question.is_poll and (is_new or question.round == self._round):
            wait_ns = 0
        elif is_new:
            wait_ns = self._rng.randrange(self._settings.report_delay_ns)
        else:
            return
        self._round, self._question = question.round, question
        self._repeats = 0
        self._due_at = question.asked_at + wait_ns

    def _is_new(self, round_: int) -> bool:
        """Heads keep two rounds. One that is behind them is not late: the latest was a false one.

        Any later one may be true, as many ENDs may have been lost.
        """
        return round_ > self._round or round_ < self._round - 1

    def answered(self, generation: int) -> None:
        """Symbols of the round have come: the report has arrived, or is not waited for."""
        if generation >= self._round:
            self._due_at = None

    def due(self, now: Instant) -> Question | None:
        """The question to answer now, if there is one."""
        question = self._question
        if self._due_at is None or self._due_at > now or question is None:
            return None
        if self._repeats < self._repeats_max:
            self._repeats += 1
            self._due_at = now + (question.hold_ns << self._repeats)
        else:
            self._due_at = None
        return question

    def next_wakeup(self) -> Instant | None:
        """When the next answer is due."""
        return self._due_at
