"""Answers who lost a message that is kept here.

1. A request that names us is answered at once; one that names another is not for us. One
   that names nobody is ours as well, if we have answered another for it alone.
2. One that names nobody is answered after a wait of SRM's, by the distance to who
   asked [R5], unless a repair of somebody else is heard before that.
3. A repair goes to all who want the message if two ask for it, or if as a rule more
   than one does; else to who asked alone.
4. For a while after a repair went to all, requests for it were sent before it came
   [R6], and are not answered; after one for one alone, those of that one.
5. By how many answered after all the waits adapt, once that while is over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.timers import Timers
from penstock.transport.detect.flow_numbers import tracked_of
from penstock.transport.recovery.admission import Budget
from penstock.transport.recovery.cache import Caches
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.request_timers import Adaptive, hold_down_ns
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.record import EMPTY_RECORD
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.quantise import ECHO_STAMP_BITS, delta_ns, hold_100us

_ECHO_MASK: Final = (1 << ECHO_STAMP_BITS) - 1
# Who asks for one message while it is about to be sent: more are not remembered.
_REQUESTERS_MAX: Final = 1_024
_POSTPONED: Final = 20 * MILLISECOND
_SMOOTHING: Final = 1 / 8
# As a rule only one asks, if on average no more do than these; until that is known, several do:
# those who left it to who asked wait long for what went to that one alone.
_ALONE: Final = 1.05
_ASKERS_BEGIN: Final = 2.0


class Answer:
    """What is about to be sent again, or was."""

    __slots__ = ("first_ns", "frame", "id", "is_ours", "repairs", "requesters", "since_ns")

    def __init__(self, id_: MessageId, frame: Data, now: Instant, *, is_ours: bool) -> None:
        self.id: Final = id_
        self.frame: Final = frame
        # Whether we were named, so that nobody else is about to answer.
        self.is_ours: Final = is_ours
        self.since_ns: Final = now
        # How many answered, we among them, and when the first did.
        self.repairs = 0
        self.first_ns: Instant = now
        # Who asked: their stamp, and when it came.
        self.requesters: Final[dict[int, tuple[int, Instant]]] = {}


class Repairer:
    """What one endpoint does for others; `send` gets repairs, and says whether they may leave."""

    def __init__(
        self,
        me: int,
        settings: RecoverySettings,
        caches_of: Callable[[int], Caches],
        distances: Distances,
        *,
        draw: Callable[[], float],
        send: Callable[[Repair, Instant], bool],
    ) -> None:
        self._me: Final = me
        self._settings: Final = settings
        # By publisher.
        self._caches_of: Final = caches_of
        self._distances: Final = distances
        self._draw: Final = draw
        self._send: Final = send
        self._budget: Final = Budget(settings.repairs_mps)
        self._adaptive: Final = Adaptive(settings.timers, to_answer=True)
        self._answers: Final[dict[MessageId, Answer]] = {}
        # Those of which a repair was sent or heard, until nobody else can send one.
        self._answered: Final[OrderedDict[MessageId, Answer]] = OrderedDict()
        # Until when requests were sent before a repair came: of all, or of one.
        self._held_down: Final[OrderedDict[MessageId | tuple[MessageId, int], Instant]] = (
            OrderedDict()
        )
        # Who named us, and for what, of late.
        self._asked_us: Final[OrderedDict[tuple[MessageId, int], None]] = OrderedDict()
        # How many ask for a message, on average.
        self._askers = _ASKERS_BEGIN
        # Of the last messages sent again, how many asked for each.
        self._asked_for: Final[OrderedDict[MessageId, int]] = OrderedDict()
        # Those of them that nobody but who asked got.
        self._alone: Final[set[MessageId]] = set()
        self.timers: Final[Timers[MessageId]] = Timers()
        self.overflow = 0

    def __len__(self) -> int:
        return len(self._answers)

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody lost a message that came here, or was published here."""
        id_, requester = request.id, request.requester
        # Who asks us alone, and again, has waited for as long as an answer takes.
        insists = request.first == self._me and (id_, requester) in self._asked_us
        if request.first == self._me:
            self._remember(id_, requester)
        if self._is_held_down(id_, requester, now) and not insists:
            return
        answer = self._answers.get(id_)
        if answer is not None:
            if len(answer.requesters) < _REQUESTERS_MAX:
                answer.requesters[requester] = request.send_ts_us & _ECHO_MASK, now
            return
        distance_ns = self._distances.of(requester)
        frame = self._caches_of(id_.pub).get(
            id_,
            age_ns=delta_ns(request.age_100us),
            delay_ns=delta_ns(request.delay_100us),
            distance_ns=distance_ns,
            now=now,
        )
        if frame is None or (request.first is not None and request.first != self._me):
            return
        if len(self._answers) >= self._settings.answers_max:
            self.overflow += 1
            return
        # Others did not hear that we answered one alone, and think that we do not.
        is_ours = request.first == self._me or id_ in self._alone
        answer = self._answers[id_] = Answer(id_, frame, now, is_ours=is_ours)
        answer.requesters[requester] = request.send_ts_us & _ECHO_MASK, now
        if answer.is_ours:
            self.ring(id_, now)
            return
        self._adapt(now)
        wait_ns = self._adaptive.wait_ns(distance_ns, group=self._group, draw=self._draw())
        self.timers.set(id_, now + wait_ns)

    def _remember(self, id_: MessageId, requester: int) -> None:
        self._asked_us[id_, requester] = None
        while len(self._asked_us) > self._settings.answers_max:
            self._asked_us.popitem(last=False)

    def on_repair(self, repair: Repair, now: Instant) -> None:
        """Somebody else answers, to all."""
        id_ = repair.original.id
        self._caches_of(id_.pub).on_repair(id_.pub, own=False)
        if repair.to is None:
            answer = self._answers.pop(id_, None)
            if answer is not None:
                self.timers.cancel(id_)
            self._count_repair(id_, answer, now)
            self._hold_down(id_, self._distances.of(repair.requester), now)

    def ring(self, id_: MessageId, now: Instant) -> None:
        """Nobody else was quicker."""
        answer = self._answers[id_]
        repair = self._repair(answer, now)
        if repair is None:
            del self._answers[id_]
            return
        if not self._budget.take(now) or not self._send(repair, now):
            # All that there is no room for try again together, the oldest first.
            self.timers.set(id_, (now // _POSTPONED + 1) * _POSTPONED)
            return
        del self._answers[id_]
        self.timers.cancel(id_)
        self._caches_of(id_.pub).on_repair(id_.pub, own=True)
        self._count_askers(answer, is_alone=repair.to is not None)
        key = id_ if repair.to is None else (id_, repair.to)
        self._hold_down(key, self._distances.of(repair.requester), now)
        if not answer.is_ours:
            self._count_repair(id_, answer, now)

    @property
    def _group(self) -> int:
        return max(self._settings.group_min, self._distances.count)

    def _repair(self, answer: Answer, now: Instant) -> Repair | None:
        """For the one who asked last, or all; None if it does not fit a frame."""
        requester, (echo_ts_us, asked_ns) = next(reversed(answer.requesters.items()))
        # Records and what was said of congestion are of when it was sent first.
        original = replace(
            answer.frame,
            record=EMPTY_RECORD,
            echo=None,
            literal=False,
            flows=tracked_of(answer.frame),
        )
        repair = Repair(
            original=original,
            repairer=self._me,
            requester=requester,
            echo_ts_us=echo_ts_us,
            hold_100us=hold_100us(now - asked_ns),
            to=requester if self._is_for_one(answer) else None,
        )
        try:
            size_of(repair)
        except UsageError:
            # A peer's message may be larger than what we would publish.
            return None
        return repair

    def _is_for_one(self, answer: Answer) -> bool:
        asked = len(answer.requesters) + self._asked_for.get(answer.id, 0)
        if asked > 1 or self._settings.reply == "publish":
            return False
        # What others do not hear they cannot leave to us.
        return self._settings.reply == "unicast" or (answer.is_ours and self._askers <= _ALONE)

    def _count_askers(self, answer: Answer, *, is_alone: bool) -> None:
        """One who asks after others were answered is one more for the same message."""
        before = self._asked_for.get(answer.id, 0)
        count = self._asked_for[answer.id] = before + len(answer.requesters)
        if not before:
            self._askers += _SMOOTHING * (count - self._askers)
        else:
            self._askers += _SMOOTHING * (count - before)
        if is_alone:
            self._alone.add(answer.id)
        else:
            self._alone.discard(answer.id)
        while len(self._asked_for) > self._settings.answers_max:
            self._alone.discard(self._asked_for.popitem(last=False)[0])

    def _count_repair(self, id_: MessageId, answer: Answer | None, now: Instant) -> None:
        """One more answered what we were to answer, or did; it was us, or another."""
        answer = self._answered.setdefault(id_, answer) if answer else self._answered.get(id_)
        if answer is None:
            return
        answer.first_ns = answer.first_ns if answer.repairs else now
        answer.repairs += 1
        while len(self._answered) > self._settings.answers_max:
            self._answered.popitem(last=False)

    def _adapt(self, now: Instant) -> None:
        """To those messages that all have been answered who could, however often."""
        while self._answered:
            id_, answer = next(iter(self._answered.items()))
            if now < self._held_down.get(id_, 0):
                return
            del self._answered[id_]
            rtt_ns = max(1, 2 * self._distances.of(next(iter(answer.requesters))))
            self._adaptive.on_cycle(
                answer.repairs - 1,
                (answer.first_ns - answer.since_ns) / rtt_ns,
                is_closest=False,
                group=self._group,
            )

    def _is_held_down(self, id_: MessageId, requester: int, now: Instant) -> bool:
        held_down = self._held_down
        return now < held_down.get(id_, 0) or now < held_down.get((id_, requester), 0)

    def _hold_down(
        self, key: MessageId | tuple[MessageId, int], distance_ns: int, now: Instant
    ) -> None:
        self._held_down[key] = now + hold_down_ns(distance_ns)
        self._held_down.move_to_end(key)
        while len(self._held_down) > self._settings.answers_max:
            self._held_down.popitem(last=False)
