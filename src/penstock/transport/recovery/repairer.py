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

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.sequence import ECHO_STAMP
from penstock.kernel.timers import Timers
from penstock.kernel.token_bucket import TokenBucket
from penstock.transport.detect.flow_numbers import tracked_flow_tags
from penstock.transport.recovery.cache import RepairCache
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.request_timers import AdaptiveTimer, hold_down_ns
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.statistics import RepairerStatistics
from penstock.wire import size_of
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.record import EMPTY_RECORD
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_ns, hold_100us

# Who asks for one message while it is about to be sent: more are not remembered.
_REQUESTERS_MAX: Final = 1_024
# What there is no budget for is tried again at multiples of this: all of it together.
_POSTPONE_GRID_NS: Final = 20 * MILLISECOND
_SMOOTHING: Final = 1 / 8
# As a rule only one asks, if on average no more do than these; until that is known, several do:
# those who left it to who asked wait long for what went to that one alone.
_SINGLE_REQUESTER_MEAN_MAX: Final = 1.05
_INITIAL_MEAN_REQUESTERS: Final = 2.0


class PendingRepair:
    """What is about to be sent again, or was."""

    __slots__ = (
        "first_repair_ns",
        "frame",
        "id",
        "is_designated",
        "repair_count",
        "requested_ns",
        "requesters",
    )

    def __init__(self, id_: MessageId, frame: Data, now: Instant, *, is_designated: bool) -> None:
        self.id: Final = id_
        self.frame: Final = frame
        # Whether we were named, so that nobody else is about to answer.
        self.is_designated: Final = is_designated
        self.requested_ns: Final = now
        # How many answered, we among them, and when the first did.
        self.repair_count = 0
        self.first_repair_ns: Instant = now
        # Who asked: their stamp, and when it came.
        self.requesters: Final[dict[int, tuple[int, Instant]]] = {}


class Repairer:
    """What one endpoint does for others; `send` gets repairs, and says whether they may leave."""

    def __init__(
        self,
        endpoint_id: int,
        settings: RecoverySettings,
        cache_for: Callable[[int], RepairCache],
        distances: PeerDistances,
        *,
        draw: Callable[[], float],
        send: Callable[[Repair, Instant], bool],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._settings: Final = settings
        # By publisher.
        self._cache_for: Final = cache_for
        self._distances: Final = distances
        self._draw: Final = draw
        self._send: Final = send
        self._budget: Final = TokenBucket.of_one_second(settings.repairs_mps)
        self._adaptive_timer: Final = AdaptiveTimer(settings.timers, for_repairs=True)
        self._pending: Final[dict[MessageId, PendingRepair]] = {}
        entries_max = settings.answers_max
        # Those of which a repair was sent or heard, until nobody else can send one.
        self._completed: Final[BoundedDict[MessageId, PendingRepair]] = BoundedDict(entries_max)
        # Until when requests were sent before a repair came: of all, or of one.
        self._hold_downs: Final[BoundedDict[MessageId | tuple[MessageId, int], Instant]] = (
            BoundedDict(entries_max, recent=True)
        )
        # Who named us, and for what, of late.
        self._designations: Final[BoundedDict[tuple[MessageId, int], None]] = BoundedDict(
            entries_max
        )
        # How many ask for a message, on average.
        self._mean_requesters = _INITIAL_MEAN_REQUESTERS
        # Of the last messages sent again, how many asked for each.
        self._request_counts: Final[BoundedDict[MessageId, int]] = BoundedDict(
            entries_max, on_evict=lambda id_, _: self._unicast_only.discard(id_)
        )
        # Those of them that nobody but who asked got.
        self._unicast_only: Final[set[MessageId]] = set()
        self.timers: Final[Timers[MessageId]] = Timers()
        self.overflow = 0

    def __len__(self) -> int:
        return len(self._pending)

    def statistics(self) -> RepairerStatistics:
        """The size of everything bounded here."""
        return RepairerStatistics(
            pending=tuple(self._pending),
            timers=len(self.timers),
            completed=len(self._completed),
            hold_downs=len(self._hold_downs),
            designations=len(self._designations),
            counted=len(self._request_counts),
        )

    def on_request(self, request: Request, now: Instant) -> None:
        """Somebody lost a message that came here, or was published here."""
        id_, requester = request.id, request.requester
        # Who asks us alone, and again, has waited for as long as an answer takes.
        is_repeated = (
            request.designated_repairer == self._endpoint_id
            and (id_, requester) in self._designations
        )
        if request.designated_repairer == self._endpoint_id:
            self._designations[id_, requester] = None
        if self._is_held_down(id_, requester, now) and not is_repeated:
            return
        pending = self._pending.get(id_)
        if pending is not None:
            if len(pending.requesters) < _REQUESTERS_MAX:
                pending.requesters[requester] = request.send_ts_us & ECHO_STAMP.mask, now
            return
        distance_ns = self._distances.distance_ns(requester)
        frame = self._cache_for(id_.pub).get(
            id_,
            age_ns=delta_ns(request.age_100us),
            delay_ns=delta_ns(request.delay_100us),
            distance_ns=distance_ns,
            now=now,
        )
        if frame is None or (
            request.designated_repairer is not None
            and request.designated_repairer != self._endpoint_id
        ):
            return
        if len(self._pending) >= self._settings.answers_max:
            self.overflow += 1
            return
        # Others did not hear that we answered one alone, and think that we do not.
        is_designated = (
            request.designated_repairer == self._endpoint_id or id_ in self._unicast_only
        )
        pending = self._pending[id_] = PendingRepair(id_, frame, now, is_designated=is_designated)
        pending.requesters[requester] = request.send_ts_us & ECHO_STAMP.mask, now
        if pending.is_designated:
            self.on_timer(id_, now)
            return
        self._adapt(now)
        wait_ns = self._adaptive_timer.wait_ns(
            distance_ns, group_size=self._group_size, draw=self._draw()
        )
        self.timers.set(id_, now + wait_ns)

    def on_repair(self, repair: Repair, now: Instant) -> None:
        """Somebody else answers, to all."""
        id_ = repair.original.id
        self._cache_for(id_.pub).on_repair(id_.pub, is_own=False)
        if repair.to is None:
            pending = self._pending.pop(id_, None)
            if pending is not None:
                self.timers.cancel(id_)
            self._count_repair(id_, pending, now)
            self._hold_down(id_, self._distances.distance_ns(repair.requester), now)

    def on_timer(self, id_: MessageId, now: Instant) -> None:
        """Nobody else was quicker."""
        pending = self._pending[id_]
        repair = self._build_repair(pending, now)
        if repair is None:
            del self._pending[id_]
            return
        if not self._budget.try_take(now) or not self._send(repair, now):
            # All that there is no room for try again together, the oldest first.
            self.timers.set(id_, (now // _POSTPONE_GRID_NS + 1) * _POSTPONE_GRID_NS)
            return
        del self._pending[id_]
        self.timers.cancel(id_)
        self._cache_for(id_.pub).on_repair(id_.pub, is_own=True)
        self._count_requesters(pending, is_unicast=repair.to is not None)
        key = id_ if repair.to is None else (id_, repair.to)
        self._hold_down(key, self._distances.distance_ns(repair.requester), now)
        if not pending.is_designated:
            self._count_repair(id_, pending, now)

    @property
    def _group_size(self) -> int:
        return max(self._settings.group_min, self._distances.peer_count)

    def _build_repair(self, pending: PendingRepair, now: Instant) -> Repair | None:
        """For the one who asked last, or all; None if it does not fit a frame."""
        requester, (echo_ts_us, requested_ns) = next(reversed(pending.requesters.items()))
        # Records and what was said of congestion are of when it was sent first.
        original = replace(
            pending.frame,
            record=EMPTY_RECORD,
            echo=None,
            has_bloom_entries=False,
            flows=tracked_flow_tags(pending.frame),
        )
        repair = Repair(
            original=original,
            repairer=self._endpoint_id,
            requester=requester,
            echo_ts_us=echo_ts_us,
            hold_100us=hold_100us(now - requested_ns),
            to=requester if self._is_unicast(pending) else None,
        )
        try:
            size_of(repair)
        except UsageError:
            # A peer's message may be larger than what we would publish.
            return None
        return repair

    def _is_unicast(self, pending: PendingRepair) -> bool:
        request_count = len(pending.requesters) + self._request_counts.get(pending.id, 0)
        if request_count > 1 or self._settings.reply == "publish":
            return False
        # What others do not hear they cannot leave to us.
        return self._settings.reply == "unicast" or (
            pending.is_designated and self._mean_requesters <= _SINGLE_REQUESTER_MEAN_MAX
        )

    def _count_requesters(self, pending: PendingRepair, *, is_unicast: bool) -> None:
        """One who asks after others were answered is one more for the same message."""
        previous = self._request_counts.get(pending.id, 0)
        count = self._request_counts[pending.id] = previous + len(pending.requesters)
        if not previous:
            self._mean_requesters += _SMOOTHING * (count - self._mean_requesters)
        else:
            self._mean_requesters += _SMOOTHING * (count - previous)
        if is_unicast:
            self._unicast_only.add(pending.id)
        else:
            self._unicast_only.discard(pending.id)

    def _count_repair(self, id_: MessageId, pending: PendingRepair | None, now: Instant) -> None:
        """One more answered what we were to answer, or did; it was us, or another."""
        pending = self._completed.setdefault(id_, pending) if pending else self._completed.get(id_)
        if pending is None:
            return
        pending.first_repair_ns = pending.first_repair_ns if pending.repair_count else now
        pending.repair_count += 1

    def _adapt(self, now: Instant) -> None:
        """To those messages that all have been answered who could, however often."""
        while self._completed:
            id_, completed = next(iter(self._completed.items()))
            if now < self._hold_downs.get(id_, 0):
                return
            del self._completed[id_]
            rtt_ns = max(1, 2 * self._distances.distance_ns(next(iter(completed.requesters))))
            self._adaptive_timer.on_cycle(
                completed.repair_count - 1,
                (completed.first_repair_ns - completed.requested_ns) / rtt_ns,
                is_closest=False,
                group_size=self._group_size,
            )

    def _is_held_down(self, id_: MessageId, requester: int, now: Instant) -> bool:
        hold_downs = self._hold_downs
        return now < hold_downs.get(id_, 0) or now < hold_downs.get((id_, requester), 0)

    def _hold_down(
        self, key: MessageId | tuple[MessageId, int], distance_ns: int, now: Instant
    ) -> None:
        self._hold_downs[key] = now + hold_down_ns(distance_ns)
