"""Requests lost messages from endpoints that may have them.

1. A lost message is requested after an SRM wait (`request_timers`), which gives other endpoints
   the chance to request it first. The Bloom set of the message routes the request to all
   endpoints that could have it.
2. An endpoint that overhears a request for the same message waits again, twice as long [R6].
3. The arrival of the message, by whatever way, ends the request. After the last round, or after
   `give_up_ns`, the message is given up.

A request designates the endpoint that is to send a repair at once: a peer that sent nearly all
recent repairs and is closer than the publisher, otherwise the publisher. An endpoint that was
designated for a message, by this endpoint or another, is not designated for it again, except once
a publisher that has sent repairs before. With none left the request is open: all endpoints that
have the message send repairs by their timers. A publisher that left designated requests for two
messages in a row unanswered is not designated until it sends a repair or restarts.
Does not know how losses are detected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.retry import POSTPONED_NS
from penstock.kernel.timers import Timers
from penstock.kernel.token_bucket import TokenBucket
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.request_state import RequestState
from penstock.transport.recovery.request_timers import AdaptiveTimer, RequestTimer, is_much_farther
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.statistics import RequesterStatistics
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_100us, stamp_us

_PUBLISHERS_MAX: Final = 4_096
# A peer is designated if it sent this many of the recent repairs, and its distance is below this
# fraction of the publisher's.
_DESIGNATE_AT_REPAIRS: Final = 6
_CLOSER_RATIO: Final = 0.7
_UNANSWERED_MAX: Final = 2
# C2 = this · ln(group size), if the publisher reported the group size and so can send repairs.
_WIDTH_PER_LOG_SIZE: Final = 1.0
# In smaller groups most endpoints did not lose the same message, so shorter waits are enough.
_LARGE_GROUP_SIZE: Final = 4_096
# Overheard requests and designators stored for one message.
_OVERHEARD_MAX: Final = 1_000


class PendingRequest:
    """The request for one lost message."""

    __slots__ = (
        "bloom",
        "designators",
        "detected_ns",
        "expected_ns",
        "first_request_ns",
        "id",
        "is_designated",
        "is_open",
        "is_unanswered",
        "overheard",
        "sent",
        "timer",
    )

    def __init__(self, id_: MessageId, bloom: int, expected_ns: Instant, now: Instant) -> None:
        self.id: Final = id_
        # The Bloom set that routes the request, and when the message was expected to arrive.
        self.bloom: Final = bloom
        self.expected_ns: Final = expected_ns
        self.detected_ns: Final = now
        # Number of our requests, distances to the senders of overheard requests, and the time of
        # the first request by any endpoint.
        self.sent = 0
        self.overheard: Final[list[int]] = []
        self.first_request_ns: Instant | None = None
        # Whether there was an open request, and one that designated a repairer; the endpoints
        # that designated the publisher, and whether one of them got no repair.
        self.is_open = False
        self.is_designated = False
        self.designators: Final[set[int]] = set()
        self.is_unanswered = False
        self.timer: RequestTimer


class Requester:
    """The pending requests of one endpoint.

    `send` returns False if a request may not be sent now; `give_up` receives messages for which
    no repair arrived.
    """

    def __init__(
        self,
        endpoint_id: int,
        settings: RecoverySettings,
        distances: PeerDistances,
        *,
        bloom_bytes: int,
        draw: Callable[[], float],
        send: Callable[[Request, Instant], bool],
        give_up: Callable[[MessageId, Instant], None],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._settings: Final = settings
        self._distances: Final = distances
        self._bloom_bytes: Final = bloom_bytes
        self._draw: Final = draw
        self._send: Final = send
        self._give_up: Final = give_up
        self._budget: Final = TokenBucket.of_one_second(settings.requests_mps)
        self._pending: Final[dict[MessageId, PendingRequest]] = {}
        self._publishers: Final[BoundedDict[int, RequestState]] = BoundedDict(_PUBLISHERS_MAX)
        self.timers: Final[Timers[MessageId]] = Timers()
        self.overflow = 0

    def __contains__(self, id_: MessageId) -> bool:
        return id_ in self._pending

    def __len__(self) -> int:
        return len(self._pending)

    def bloom_for(self, id_: MessageId) -> int | None:
        """Return the Bloom set of a pending request; None if the message is not requested."""
        pending = self._pending.get(id_)
        return None if pending is None else pending.bloom

    def group_size(self, publisher: int) -> int:
        """Return the number of endpoints that may share a loss of this publisher's messages."""
        state = self._publishers.get(publisher)
        reported_size = None if state is None else state.group_size
        return max(
            self._settings.group_min if reported_size is None else reported_size,
            self._distances.peer_count,
        )

    # Input.

    def request(
        self,
        id_: MessageId,
        bloom: int,
        expected_ns: Instant,
        now: Instant,
        *,
        extra_wait_ns: Duration = 0,
    ) -> None:
        """Request a lost message; `extra_wait_ns` delays the first request further."""
        if id_ in self._pending:
            return
        if len(self._pending) >= self._settings.wanted_max:
            self.overflow += 1
            self._give_up(id_, now)
            return
        state = self._state(id_.pub)
        if state.epoch != id_.epoch:
            state.epoch, state.unanswered, state.has_repaired = id_.epoch, 0, False
        pending = PendingRequest(id_, bloom, expected_ns, now)
        pending.timer = RequestTimer(
            state.adaptive_timer,
            self._distances.distance_ns(id_.pub),
            group_size=self.group_size(id_.pub),
            draw=self._draw(),
            now=now,
        )
        self._pending[id_] = pending
        self.timers.set(id_, pending.timer.due_at + extra_wait_ns)

    def on_group_size(self, publisher: int, group_size: int) -> None:
        """Adapt to the group size that a publisher reported: small groups wait less."""
        state = self._state(publisher)
        timers = self._settings.timers
        if timers.law == "exponential" and not _is_similar_size(group_size, state.group_size):
            # The old timer has adapted to a different group size, so a new one replaces it.
            state.group_size = group_size
            width = max(timers.width_min, _WIDTH_PER_LOG_SIZE * log(max(1, group_size)))
            state.adaptive_timer = AdaptiveTimer(replace(timers, width_min=width, ask_width=width))
            state.adaptive_timer.effective_group_size = group_size * min(
                1.0, group_size / _LARGE_GROUP_SIZE
            )

    def on_request(self, request: Request, now: Instant) -> None:
        """Handle an overheard request for a message that is also requested here."""
        pending = self._pending.get(request.id)
        if pending is None or request.requester == self._endpoint_id:
            return
        if len(pending.overheard) < _OVERHEARD_MAX:
            pending.overheard.append(self._distances.distance_ns(request.requester))
        pending.first_request_ns = (
            now if pending.first_request_ns is None else pending.first_request_ns
        )
        self._record_request(pending, request.requester, request.designated_repairer)
        if pending.timer.on_request(
            by_other=True,
            group_size=self.group_size(request.pub),
            draw=self._draw(),
            now=now,
            round_=request.round,
            is_designated=request.designated_repairer is not None,
        ):
            self.timers.set(request.id, pending.timer.due_at)

    def on_arrival(self, id_: MessageId, now: Instant) -> None:
        """End the request for a message that arrived, as an original or as a repair."""
        del now
        pending = self._pending.pop(id_, None)
        if pending is not None:
            self.timers.cancel(id_)
            self._adapt(pending)
            if pending.designators and not pending.is_open:
                # Another endpoint's request also shows that the publisher sends repairs.
                self._state(id_.pub).unanswered = 0

    def on_repair(self, publisher: int, repairer: int) -> None:
        """Record the sender of a repair that we requested."""
        state = self._state(publisher)
        state.recent_repairers.append(repairer)
        if repairer == publisher:
            state.has_repaired = True
            state.unanswered = 0

    def cancel(self, id_: MessageId) -> None:
        """Drop the request for a message that is no longer needed, without adapting."""
        if self._pending.pop(id_, None) is not None:
            self.timers.cancel(id_)

    def on_timer(self, id_: MessageId, now: Instant) -> None:
        """Send a request that is due, or give up the message."""
        pending = self._pending[id_]
        timer = pending.timer
        if timer.is_expired or now - pending.detected_ns >= self._settings.give_up_ns:
            del self._pending[id_]
            self._adapt(pending)
            self._give_up(id_, now)
            return
        request = self._build_request(pending, now)
        if not self._budget.try_take(now) or not self._send(request, now):
            self.timers.set(id_, now + POSTPONED_NS)
        else:
            self._on_sent(pending, request.designated_repairer, now)

    def statistics(self) -> RequesterStatistics:
        """The size of everything bounded here."""
        return RequesterStatistics(
            pending=tuple(self._pending),
            timers=len(self.timers),
            publishers=len(self._publishers),
        )

    # Requests.

    def _on_sent(self, pending: PendingRequest, designated: int | None, now: Instant) -> None:
        self._record_request(pending, self._endpoint_id, designated)
        group_size = self.group_size(pending.id.pub)
        if not pending.sent and not pending.overheard:
            self._state(pending.id.pub).adaptive_timer.on_sent_first(group_size=group_size)
        pending.sent += 1
        pending.first_request_ns = (
            now if pending.first_request_ns is None else pending.first_request_ns
        )
        pending.timer.on_request(
            by_other=False,
            group_size=group_size,
            draw=self._draw(),
            now=now,
            is_designated=designated is not None,
        )
        self.timers.set(pending.id, pending.timer.due_at)

    def _build_request(self, pending: PendingRequest, now: Instant) -> Request:
        id_ = pending.id
        state = self._state(id_.pub)
        distance_ns, group_size = self._distances.distance_ns(id_.pub), self.group_size(id_.pub)
        return Request(
            pub=id_.pub,
            epoch=id_.epoch,
            seq=id_.seq,
            requester=self._endpoint_id,
            send_ts_us=stamp_us(now),
            age_100us=delta_100us(now - pending.expected_ns),
            delay_100us=delta_100us(
                state.adaptive_timer.mean_wait_ns(distance_ns, group_size=group_size)
            ),
            round=pending.timer.round_,
            is_unicast=self._settings.reply == "unicast",
            bloom=pending.bloom,
            bloom_bytes=self._bloom_bytes,
            designated_repairer=self._designate(pending, state),
        )

    def _designate(self, pending: PendingRequest, state: RequestState) -> int | None:
        """Choose the endpoint that is to send a repair at once; None for an open request."""
        if not self._settings.names_first:
            return None
        publisher = pending.id.pub
        if not pending.is_designated and state.recent_repairers:
            peer, count = Counter(state.recent_repairers).most_common(1)[0]
            closer_ns = _CLOSER_RATIO * self._distances.distance_ns(publisher)
            if (
                count >= _DESIGNATE_AT_REPAIRS
                and peer != publisher
                and self._distances.distance_ns(peer) < closer_ns
            ):
                return peer
        if state.unanswered >= _UNANSWERED_MAX:
            return None
        # The publisher has sent repairs before, so the request or the repair may have been lost.
        may_repeat = state.has_repaired and pending.timer.round_ == 1
        return publisher if not pending.designators or may_repeat else None

    def _record_request(
        self, pending: PendingRequest, requester: int, designated: int | None
    ) -> None:
        """Record a request, ours or another's, and the endpoint it designates, if any.

        A requester that designated the publisher and sends again got no repair, not even a unicast
        one. After an open request the repairer may be far away: the timer is extended, lest
        endpoints close to the publisher repeat requests while all repairers still wait.
        """
        if requester in pending.designators and not pending.is_unanswered:
            pending.is_unanswered = True
            self._state(pending.id.pub).unanswered += 1
        if designated is not None:
            pending.is_designated = True
            if designated == pending.id.pub and len(pending.designators) < _OVERHEARD_MAX:
                pending.designators.add(requester)
            return
        pending.is_open = True
        if self._settings.names_first:
            pending.timer.extend_to(self._settings.distance_ns)

    def _adapt(self, pending: PendingRequest) -> None:
        """[SRM] Adapt the timer: others' requests beyond the first are duplicates, ours are not."""
        if pending.first_request_ns is None:
            return
        distance_ns = self._distances.distance_ns(pending.id.pub)
        duplicates = len(pending.overheard) - (0 if pending.sent else 1)
        is_closest = bool(pending.sent) and any(
            is_much_farther(other_ns, distance_ns) for other_ns in pending.overheard
        )
        self._state(pending.id.pub).adaptive_timer.on_cycle(
            duplicates,
            (pending.first_request_ns - pending.detected_ns) / max(1, 2 * distance_ns),
            is_closest=is_closest,
            group_size=self.group_size(pending.id.pub),
        )

    def _state(self, publisher: int) -> RequestState:
        state = self._publishers.use(publisher)
        if state is None:
            state = self._publishers[publisher] = RequestState(AdaptiveTimer(self._settings.timers))
        return state


def _is_similar_size(size: int, previous: int | None) -> bool:
    """Whether two group sizes are so close that the timer need not start over."""
    return previous is not None and previous <= 2 * size and size <= 1.3 * previous
