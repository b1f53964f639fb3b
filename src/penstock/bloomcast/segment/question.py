"""A question of a head to its ends, and what they have answered, round by round.

FIRST asks one, which END asks again for as long as a file lasts. Of a stream each block that is
closed has a question of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.segment.end_table import End, EndTable
from penstock.bloomcast.segment.progress import Progress
from penstock.bloomcast.segment.repair_targets import RepairTargets
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import since_ns
from penstock.kernel.instant import Duration, Instant
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.report import Report
from penstock.wire.quantise import delta_ns

# Blocks with open needs that are kept for a round; the others wait for the next END.
BLOCKS_MAX: Final = 1_024


@dataclass(slots=True)
class Answer:
    """Of one end."""

    # Subscribers at and below it.
    done: int = 0
    total: int = 1
    # The latest round that it has reported for.
    round: int = -1
    # ENDs in a row that it did not answer.
    silent_ends: int = 0
    progress: Progress = field(default_factory=Progress)


class Question:
    """One of them."""

    def __init__(
        self, ends: EndTable, settings: CastSettings, *, is_of_stream: bool = False
    ) -> None:
        self._ends: Final = ends
        self._settings: Final = settings.head
        self._is_of_stream: Final = is_of_stream
        self.rounds: Final = RoundTable(blocks_max=BLOCKS_MAX)
        self.targets: Final = RepairTargets(self.rounds, ends, settings.publisher)
        self._answers: Final[dict[int, Answer]] = {}
        # When a round was opened, and the stamp of the frame that did it.
        self._opened_at: Instant = 0
        self._opened_stamp_us = 0
        # By round, for two: who has all, has said so, and need not say it again.
        self._excused: Final[dict[int, dict[int, None]]] = {}

    def _answer(self, node: int) -> Answer:
        return self._answers.setdefault(node, Answer())

    # Ends come and go.

    def forget(self, node: int) -> None:
        """An end has left, or is another one."""
        self._answers.pop(node, None)
        self._forget_needs(node)

    def _forget_needs(self, node: int) -> None:
        self.rounds.forget(node)
        for excused in self._excused.values():
            excused.pop(node, None)

    def ask_anew(self, end: End) -> None:
        """Who had all may have restarted, with nothing."""
        if self._is_satisfied(end):
            self._answer(end.node).done = 0
            self._forget_needs(end.node)

    def reached_again(self, node: int) -> None:
        """An end may have been silent because it was not reached."""
        answer = self._answer(node)
        answer.silent_ends, answer.progress = 0, Progress()

    def begin_epoch(self) -> None:
        """Rounds are counted from 0 again: what was said before counts no more."""
        self.rounds.clear()
        self._excused.clear()
        self.targets.clear()
        for answer in self._answers.values():
            answer.round, answer.done, answer.silent_ends = -1, 0, 0

    # Rounds.

    def open_round(self, round_: int, stamp_us: int, now: Instant) -> bool:
        """FIRST or END goes out, for the first time in this round: from now on reports come."""
        if not self.rounds.begin(round_):
            return False
        self._opened_at, self._opened_stamp_us = now, stamp_us
        self.targets.clear()
        for old in [old for old in self._excused if old < round_ - 1]:
            del self._excused[old]
        self._excused[round_] = self._find_excused()
        return True

    def _find_excused(self) -> dict[int, None]:
        """Nobody while somebody is given up: END then goes to all, and may bring them back."""
        if self._ends.failed:
            return {}
        return {end.node: None for end in self._ends if self._is_satisfied(end)}

    def _is_satisfied(self, end: End) -> bool:
        """Whether it is a subscriber that has all: it waits for nobody, so nobody joins below."""
        answer = self._answer(end.node)
        return answer.done == answer.total and end.hold_ns == 0

    def on_report(self, header: Header, report: Report, now: Instant) -> bool:
        """Notes what an end needs; True if it changes anything."""
        end, round_ = self._ends.get(report.child), round_of(header)
        assert end is not None
        is_new = self.rounds.add(
            round_,
            report.child,
            report,
            all_blocks=bool(header.flags & Flag.ALL),
            is_exact=bool(header.flags & Flag.EXACT),
        )
        answer = self._answer(report.child)
        if not is_new and (report.done, report.total) == (answer.done, answer.total):
            return False
        if round_ == self.rounds.latest:
            self._measure(end, header, now)
        if round_ >= answer.round:
            # A late report of an earlier round says nothing new of its sender.
            answer.round, answer.silent_ends = round_, 0
            answer.done, answer.total = report.done, report.total
            end.note(report, delta_ns(report.hold_100us))
        self.targets.clear()
        return True

    def settle(self, end: End) -> None:
        """An end, and all below it, lack nothing that this question is about."""
        answer = self._answer(end.node)
        if answer.done < answer.total:
            answer.done = answer.total
            self.targets.clear()

    def _measure(self, end: End, header: Header, now: Instant) -> None:
        """The stamp is that of the frame answered, plus what the end waited."""
        held_ns = since_ns(header.stamp_us, self._opened_stamp_us)
        if held_ns >= 0:
            end.measure(now - self._opened_at - held_ns)

    # Who has answered.

    def unanswered(self, round_: int) -> list[int]:
        """Ends that have not reported."""
        excused = self._excused.get(round_, ())
        return [
            end.node
            for end in self._ends
            if end.node not in excused and not self.rounds.has_reported(round_, end.node)
        ]

    def is_complete(self, round_: int) -> bool:
        """Whether every end has reported, or has all."""
        return not self.unanswered(round_)

    def asked(self) -> list[int] | None:
        """Whom END of the latest round is for; None for all, those who were given up included."""
        excused = self._excused.get(self.rounds.latest)
        if not excused:
            return None
        return [end.node for end in self._ends if end.node not in excused]

    def note_silence(self, round_: int, now: Instant) -> list[int]:
        """Counts the ENDs that ends let pass; returns the silent, without those it gives up."""
        if self._is_of_stream and not round_:
            # FIRST is not about a block.
            return []
        silent = []
        for node in self.unanswered(round_):
            end, answer = self._ends.get(node), self._answer(node)
            assert end is not None
            answer.silent_ends += 1
            if end.silent_since is None:
                end.silent_since = now
            if self._is_lost(end, answer, now):
                self._give_up(node)
            else:
                silent.append(node)
        if round_:
            self._note_progress(round_, now)
        return silent

    def _note_progress(self, round_: int, now: Instant) -> None:
        """Gives up those who answer, and get nothing."""
        for node, needs in self.rounds.needs_by_end(round_).items():
            end, answer = self._ends.get(node), self._answer(node)
            if end is None:
                continue
            progress = answer.progress
            progress.note(needs, (answer.done, answer.total), now)
            if progress.has_ceased(self._settings, now, is_relay=bool(end.hold_ns)):
                end.is_stuck = True
                self._give_up(node)

    def shows_progress(self, header: Header, report: Report) -> bool:
        """Whether one who was given up as nothing arrived there gets something now."""
        return self._answer(report.child).progress.shows(header, report)

    def give_up_all(self) -> None:
        """Nobody is there."""
        for node in [end.node for end in self._ends]:
            self._give_up(node)

    def _give_up(self, node: int) -> None:
        answer = self._answer(node)
        # Of a stream nobody has all before its end.
        self._ends.give_up(node, has_all=answer.done == answer.total and not self._is_of_stream)
        self.rounds.forget(node)

    def _is_lost(self, end: End, answer: Answer, now: Instant) -> bool:
        """Whether an end has been silent for so long that others are not kept waiting."""
        settings = self._settings
        return (
            answer.silent_ends > settings.silent_ends_max
            and end.silent_since is not None
            and now - end.silent_since >= settings.silence_ns
        )

    def nearly_lost(self) -> list[int]:
        """Whom to ask once more: an end is given up if it does not answer the next END either."""
        least = self._settings.silent_ends_max
        return [
            node
            for node in self.unanswered(self.rounds.latest)
            if self._answer(node).silent_ends >= least
        ]

    def patience_ns(self, hold_ns: Duration) -> Duration:
        """As `hold_ns`, and longer while an end is silent: its reports may all have been lost."""
        settings = self._settings
        silent_ends = max((self._answer(end.node).silent_ends for end in self._ends), default=0)
        doublings = min(silent_ends, settings.hold_doublings_max)
        return min(hold_ns << doublings, settings.hold_max_ns)

    # What all of them together say.

    def counts(self) -> tuple[int, int]:
        """Subscribers that are done, and all; those that were given up are not counted."""
        answers = [self._answer(end.node) for end in self._ends.counted()]
        return sum(each.done for each in answers), sum(each.total for each in answers)

    def worst_loss(self) -> int:
        """The highest loss of an end that is not done."""
        losses = [(end.loss, self._answer(end.node)) for end in self._ends]
        return max((loss for loss, each in losses if each.done < each.total), default=0)


def round_of(header: Header) -> int:
    """The round that a report is for."""
    return 0 if header.flags & Flag.OPENING else header.generation + 1
