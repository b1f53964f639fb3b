"""Sends repairs of cached messages to endpoints that lost them.

1. A request that designates this endpoint is repaired at once; one that designates another is
   ignored. An open request, which designates none, counts as designating this endpoint if it has
   sent a unicast repair of the same message.
2. Any other open request is repaired after an SRM wait, scaled by the distance to the requester
   [R5], unless another endpoint's repair arrives first.
3. A repair goes to all subscribers of the message if it has two requesters, or if messages usually
   have more than one; otherwise to the requester alone.
4. During one hold-down period after a repair to all, requests for the message are ignored, because
   they crossed the repair [R6]; after a unicast repair, only those of its requester.
5. After the hold-down period the waits adapt to the number of endpoints that sent a repair.

Does not know why a message was lost, or whether the repair arrived.
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

# Requesters stored for one pending repair.
_REQUESTERS_MAX: Final = 1_024
# Repairs over budget are retried at multiples of this, so that all are retried together.
_POSTPONE_GRID_NS: Final = 20 * MILLISECOND
_SMOOTHING: Final = 1 / 8
# Up to this mean number of requesters, a message usually has only one. The initial value assumes
# several: an endpoint that suppressed its own request waits long if the repair was unicast.
_SINGLE_REQUESTER_MEAN_MAX: Final = 1.05
_INITIAL_MEAN_REQUESTERS: Final = 2.0


class PendingRepair:
    """A repair that is about to be sent, or was sent by this endpoint or another."""

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
        # Whether we were designated, so that no other endpoint is about to send a repair.
        self.is_designated: Final = is_designated
        self.requested_ns: Final = now
        # Number of repairs sent by any endpoint, and the time of the first.
        self.repair_count = 0
        self.first_repair_ns: Instant = now
        # By requester: the timestamp to echo, and when the request arrived.
        self.requesters: Final[dict[int, tuple[int, Instant]]] = {}


class Repairer:
    """The pending repairs of one endpoint; `send` returns False if a repair may not be sent."""

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
        # Takes a publisher id.
        self._cache_for: Final = cache_for
        self._distances: Final = distances
        self._draw: Final = draw
        self._send: Final = send
        self._budget: Final = TokenBucket.of_one_second(settings.repairs_mps)
        self._adaptive_timer: Final = AdaptiveTimer(settings.timers, for_repairs=True)
        self._pending: Final[dict[MessageId, PendingRepair]] = {}
        entries_max = settings.answers_max
        # Repairs sent or overheard, until no other endpoint can send a duplicate.
        self._completed: Final[BoundedDict[MessageId, PendingRepair]] = BoundedDict(entries_max)
        # End of the hold-down period: for all requesters of a message, or for one.
        self._hold_downs: Final[BoundedDict[MessageId | tuple[MessageId, int], Instant]] = (
            BoundedDict(entries_max, recent=True)
        )
        # Recent requests that designated us, by message and requester.
        self._designations: Final[BoundedDict[tuple[MessageId, int], None]] = BoundedDict(
            entries_max
        )
        # Moving average over repaired messages.
        self._mean_requesters = _INITIAL_MEAN_REQUESTERS
        # Number of requesters of each recently repaired message.
        self._request_counts: Final[BoundedDict[MessageId, int]] = BoundedDict(
            entries_max, on_evict=lambda id_, _: self._unicast_only.discard(id_)
        )
        # Those of these messages whose last repair was unicast.
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
        """Handle a request for a message that was received or published here."""
        id_, requester = request.id, request.requester
        # A requester that designates us again has waited for the time that a repair takes.
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
        # Other endpoints do not see our unicast repair, and assume that we did not send one.
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
        """Handle another endpoint's repair; one to all subscribers cancels our own."""
        id_ = repair.original.id
        self._cache_for(id_.pub).on_repair(id_.pub, is_own=False)
        if repair.to is None:
            pending = self._pending.pop(id_, None)
            if pending is not None:
                self.timers.cancel(id_)
            self._count_repair(id_, pending, now)
            self._hold_down(id_, self._distances.distance_ns(repair.requester), now)

    def on_timer(self, id_: MessageId, now: Instant) -> None:
        """Send a pending repair: no other endpoint was faster."""
        pending = self._pending[id_]
        repair = self._build_repair(pending, now)
        if repair is None:
            del self._pending[id_]
            return
        if not self._budget.try_take(now) or not self._send(repair, now):
            # All postponed repairs are retried at the same time, the oldest first.
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
        """Build a repair for the last requester or for all; None if it does not fit a frame."""
        requester, (echo_ts_us, requested_ns) = next(reversed(pending.requesters.items()))
        # The record and the congestion control fields describe the time of the first sending.
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
        # In reply to an open request the repair must go to all, to suppress other repairs.
        return self._settings.reply == "unicast" or (
            pending.is_designated and self._mean_requesters <= _SINGLE_REQUESTER_MEAN_MAX
        )

    def _count_requesters(self, pending: PendingRepair, *, is_unicast: bool) -> None:
        """Update the mean number of requesters; late requesters add to those of the message."""
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
        """Count a repair, by us or another endpoint, of a message that we had pending."""
        pending = self._completed.setdefault(id_, pending) if pending else self._completed.get(id_)
        if pending is None:
            return
        pending.first_repair_ns = pending.first_repair_ns if pending.repair_count else now
        pending.repair_count += 1

    def _adapt(self, now: Instant) -> None:
        """Adapt the timer to the completed messages whose hold-down period has ended."""
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
