"""Recovery for one endpoint: requests its lost messages and repairs those of other endpoints.

    loss        `Requester` sends a request, repeatedly if necessary
    request     `Repairer` sends a repair from a `RepairCache`
    repair      the endpoint accepts the message as if it had arrived late

Endpoints are identified by their publisher id. This module routes between these parts and loss
detection; it does not decide when a message counts as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.kernel.instant import SECOND, Instant, earliest
from penstock.kernel.token_bucket import TokenBucket
from penstock.transport.detect.flow_gaps import FlowGapDetector
from penstock.transport.detect.flow_numbers import NumberedMessage
from penstock.transport.detect.tracking import FlowTracking
from penstock.transport.detect.unrecorded_losses import ControlFrame, UnrecordedLosses
from penstock.transport.facts import Loss
from penstock.transport.identity import Identity
from penstock.transport.inbox import UnicastInbox
from penstock.transport.network import Carried, Network
from penstock.transport.record.entry_match import compile_entry_test
from penstock.transport.recovery.admission import Admission, Unlimited
from penstock.transport.recovery.cache import RepairCache
from penstock.transport.recovery.facts import (
    ControlSent,
    LocalEndpoint,
    RepairSent,
    RequestSent,
)
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.repairer import Repairer
from penstock.transport.recovery.request_bloom import RequestBloom
from penstock.transport.recovery.requester import Requester
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.statistics import RecoveryStatistics
from penstock.wire import size_of
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data, FlowTag, MessageId
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_100us, delta_ns

_CACHE_ADAPT_NS: Final = SECOND
# Extra wait, in distances, before a loss that flow numbers reveal too is requested by its id.
_FLOW_GAPS_FIRST_DISTANCES: Final = 6
_COUNTERS: Final = (
    "asked",
    "answered",
    "repaired",
    "repair_forged",
    "repair_unmatched",
    "repair_unwanted",
    "unaddressable",
)


class Recovery:
    """Sends and receives requests, repairs and frames of loss detection for one endpoint."""

    def __init__(
        self,
        identity: Identity,
        settings: RecoverySettings,
        network: Network[Carried],
        endpoint: LocalEndpoint,
        inbox: UnicastInbox[Carried],
        *,
        subscription_ids: Iterator[int],
        draw: Callable[[], float],
        counters: dict[str, int],
        admission: Admission | None = None,
    ) -> None:
        self._identity: Final = identity
        self._routing: Final = RequestBloom(identity.encoder, settings)
        self._settings: Final = settings
        self._network: Final = network
        self._endpoint: Final = endpoint
        self._inbox: Final = inbox
        self._subscription_ids: Final = subscription_ids
        self._counters: Final = counters
        self._admission: Final = admission or Unlimited()
        # Messages received here, and messages published here.
        self.cache: Final = RepairCache(settings.cache)
        self.publication_cache: Final = RepairCache(settings.own_cache)
        self._distances: Final = PeerDistances(settings.distance_ns)
        # For frames of loss detection; requests and repairs have budgets of their own.
        self._budget: Final = TokenBucket.of_one_second(settings.repairs_mps)
        self._requester: Final = Requester(
            identity.endpoint_id,
            settings,
            self._distances,
            bloom_bytes=identity.encoder.params.m + 7 >> 3,
            draw=draw,
            send=self._send_request,
            give_up=self._give_up,
        )
        self._flow_gaps: Final = FlowGapDetector(
            identity.endpoint_id,
            self._distances,
            give_up_ns=settings.give_up_ns,
            draw=draw,
            send=self._send_control,
            loss_timeout_ns=endpoint.loss_timeout_ns,
            report_loss=endpoint.give_up_unidentified,
        )
        self._tracking: Final = (
            None
            if settings.tracks is False
            else FlowTracking(
                identity.endpoint_id,
                self._flow_gaps,
                draw=draw,
                send=self._send_control,
                needs_tracking=self._needs_flow_numbers,
            )
        )
        self._detection: Final = UnrecordedLosses(
            identity.endpoint_id,
            identity.epoch,
            identity.encoder,
            network,
            self._distances,
            requests_digests=settings.digests,
            tracking=self._tracking,
            tracked_flows_max=settings.tracked_max if settings.publisher_answers else 0,
            subscription_ids=subscription_ids,
            draw=draw,
            send=self._send_control,
            deliver_digest=endpoint.on_digest,
            repair=self._on_flow_request,
            find_published=self._find_published,
            on_group_size=self._requester.on_group_size,
        )
        self._repairer: Final = Repairer(
            identity.endpoint_id,
            settings,
            self._cache_for,
            self._distances,
            draw=draw,
            send=self._send_repair,
        )
        # By interest id: the network subscription to requests for its messages.
        self._request_subscriptions: Final[dict[int, int]] = {}
        self._has_published = False
        self._adapt_at: Instant | None = None
        for name in _COUNTERS:
            counters.setdefault(name, 0)

    # Calls from the endpoint.

    def subscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """Add an interest, and subscribe to requests for messages that match it."""
        self._inbox.open(now)
        self._detection.subscribed(interest_id, predicate, now)
        if self._settings.volunteers:
            subscription_id = self._request_subscriptions[interest_id] = next(
                self._subscription_ids
            )
            self._network.subscribe(
                subscription_id,
                self._routing.request_filter(predicate),
                traffic=TrafficClass.REQUEST,
                now=now,
            )

    def unsubscribed(self, interest_id: int, now: Instant) -> None:
        """Remove an interest; cached messages still serve requests that other interests match."""
        self._detection.unsubscribed(interest_id, now)
        subscription_id = self._request_subscriptions.pop(interest_id, None)
        if subscription_id is not None:
            self._network.unsubscribe(subscription_id, now=now)

    def flow_tags(self, message: Message) -> tuple[FlowTag, ...]:
        """Return the tags of tracked flows for a message about to be sent."""
        return self._detection.flow_numbers.tags_for(message)

    def on_sent(self, frame: Data, now: Instant) -> None:
        """Cache a published message, and subscribe to requests for our messages at the first."""
        if not self._settings.publisher_answers:
            return
        if not self._has_published:
            self._has_published = True
            self._inbox.open(now)
            own_filter = self._routing.own_request_filter(self._identity.endpoint_id)
            subscription_id = next(self._subscription_ids)
            self._network.subscribe(
                subscription_id, own_filter, traffic=TrafficClass.REQUEST, now=now
            )
        self._add_to_cache(frame, now)
        self._detection.on_sent(frame, now)

    def on_arrival(
        self, frame: Data, *, is_wanted: bool, is_cached: bool = False, now: Instant
    ) -> None:
        """Record the first arrival of an original.

        `is_wanted` says that it matches an interest here; `is_cached` that it is to be cached for
        other endpoints in any case.
        """
        if len(self._requester):
            self._requester.on_arrival(frame.id, now)
        if is_wanted:
            self._detection.on_arrival(frame, now)
        if (is_wanted or is_cached) and self._settings.volunteers:
            self._add_to_cache(frame, now)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """Request a lost message; a retracted loss counts as an arrival."""
        id_ = loss.id
        if loss.is_retracted:
            self._requester.on_arrival(id_, now)
            return
        self._distances.on_hint(id_.pub, loss.due_ns - loss.departed_ns)
        bloom = self._routing.bloom_for(loss)
        if bloom is None:
            self._counters["unaddressable"] += 1
            self._give_up(id_, now)
            return
        extra_wait_ns = 0
        if self._tracking is not None and self._tracking.covers_all_losses(id_.pub):
            # Flow numbers nearly always reveal this loss too, and one request is enough.
            extra_wait_ns = _FLOW_GAPS_FIRST_DISTANCES * self._distances.distance_ns(id_.pub)
        self._requester.request(id_, bloom, loss.due_ns, now, extra_wait_ns=extra_wait_ns)

    def on_undescribed(
        self, publisher: int, epoch: int, first_seq: int, count: int, now: Instant
    ) -> None:
        """Handle `count` messages from `first_seq` on that no record described."""
        self._detection.on_undescribed(publisher, epoch, first_seq, count, now)

    def cancel(self, id_: MessageId) -> None:
        """Stop requesting a message that no stream waits for any more."""
        self._requester.cancel(id_)

    def on_frame(self, frame: TransportFrame, now: Instant) -> bool:
        """Handle a received frame; return False if it does not concern recovery."""
        if type(frame) is Request:
            self._on_request(frame, now)
        elif type(frame) is Repair:
            self._on_repair(frame, now)
        else:
            return self._detection.on_frame(frame, now)
        return True

    def wake(self, *, now: Instant) -> None:
        """Run everything that is due."""
        for id_ in self._requester.timers.due(now):
            self._requester.on_timer(id_, now)
        for id_ in self._repairer.timers.due(now):
            self._repairer.on_timer(id_, now)
        self._detection.wake(now)
        self._flow_gaps.wake(now)
        if self._adapt_at is not None and now >= self._adapt_at:
            self.cache.adapt(now=now)
            self.publication_cache.adapt(now=now)
            self._adapt_at = now + _CACHE_ADAPT_NS

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return earliest(
            self._requester.timers.next_wakeup(),
            self._repairer.timers.next_wakeup(),
            self._detection.next_wakeup(),
            self._flow_gaps.next_wakeup(),
            self._adapt_at,
        )

    def statistics(self) -> RecoveryStatistics:
        """The size of everything bounded here."""
        return RecoveryStatistics(
            requester=self._requester.statistics(),
            repairer=self._repairer.statistics(),
            cache=self.cache.statistics(),
            publication_cache=self.publication_cache.statistics(),
            detection=self._detection.statistics(),
            flow_gaps=self._flow_gaps.statistics(),
            flow_gap_timers=len(self._flow_gaps),
            peers=self._distances.peer_count,
        )

    def _needs_flow_numbers(self, predicate: Predicate) -> bool:
        """Whether losses of messages that match must be detected by flow numbers."""
        if self._settings.tracks:
            return True
        tests = (
            compile_entry_test(filter_, self._identity.encoder) for filter_ in predicate.filters
        )
        return any(test is not None and not test.is_certain for test in tests)

    # Received frames.

    def _on_request(self, request: Request, now: Instant) -> None:
        if request.requester == self._identity.endpoint_id:
            return
        self._distances.on_peer(request.requester)
        self._requester.on_request(request, now)
        if request.pub == self._identity.endpoint_id:
            can_repair = request.epoch == self._identity.epoch
        else:
            # A cached message was received, even if the endpoint's window has moved past it.
            can_repair = self._endpoint.has_received(request.id) or bool(
                self.cache.find(request.id)
            )
        if can_repair:
            self._repairer.on_request(request, now)

    def _on_repair(self, repair: Repair, now: Instant) -> None:
        endpoint_id, original = self._identity.endpoint_id, repair.original
        if repair.repairer == endpoint_id or repair.to not in (None, endpoint_id):
            return
        bloom = self._requester.bloom_for(original.id)
        if bloom is not None and not self._routing.could_be(bloom, original):
            # Not the message that was lost: keep requesting that one.
            self._counters["repair_forged"] += 1
            return
        if repair.requester == endpoint_id:
            hold_ns = delta_ns(repair.hold_100us)
            self._distances.on_echo(repair.repairer, repair.echo_ts_us, hold_ns, now=now)
            self._requester.on_repair(original.pub, repair.repairer)
        self._repairer.on_repair(repair, now)
        is_requested = self._flow_gaps.has_gap(original.pub, original.epoch, original.flows)
        is_new = self._endpoint.on_repair(original, now, is_requested=is_requested)
        if is_requested or is_new:
            # Otherwise the message was not accepted, and its gaps must stay open.
            self._flow_gaps.on_flow_tags(original.pub, original.epoch, original.flows, now)
        if is_new:
            self._counters["repaired"] += 1
            self._requester.on_arrival(original.id, now)
            if self._settings.volunteers:
                self._add_to_cache(original, now)

    def _on_flow_request(
        self, range_request: RangeRequest, message: NumberedMessage, now: Instant
    ) -> None:
        """Repair a message of ours that a subscriber requested by its number in a flow."""
        request = Request(
            pub=range_request.pub,
            epoch=range_request.epoch,
            seq=message.seq,
            requester=range_request.requester,
            send_ts_us=range_request.send_ts_us,
            age_100us=delta_100us(now - message.sent_ns),
            delay_100us=0,
            round=0,
            is_unicast=False,
            bloom=0,
            bloom_bytes=1,
            designated_repairer=self._identity.endpoint_id,
        )
        self._repairer.on_request(request, now)

    def _find_published(self, seq: int) -> Data | None:
        return self.publication_cache.find(
            MessageId(self._identity.endpoint_id, self._identity.epoch, seq)
        )

    def _cache_for(self, publisher: int) -> RepairCache:
        return self.publication_cache if publisher == self._identity.endpoint_id else self.cache

    def _add_to_cache(self, frame: Data, now: Instant) -> None:
        self._cache_for(frame.pub).put(frame, now=now)
        if self._adapt_at is None:
            self._adapt_at = now + _CACHE_ADAPT_NS

    # Sent frames.

    def _send_request(self, request: Request, now: Instant) -> bool:
        if not self._admission.admit_request(request.pub, size_of(request), now=now):
            return False
        self._network.publish(request, traffic=TrafficClass.REQUEST, now=now)
        self._counters["asked"] += 1
        self._endpoint.record_sent(RequestSent(request))
        return True

    def _send_repair(self, repair: Repair, now: Instant) -> bool:
        original = repair.original
        # The repair has only the tags of tracked flows; admission needs those of controlled ones.
        cached = self._cache_for(original.pub).find(original.id) or original
        if not self._admission.admit_repair(cached, now=now):
            return False
        self._network.publish(repair, now=now)
        self._counters["answered"] += 1
        self._endpoint.record_sent(RepairSent(repair))
        return True

    def _send_control(self, frame: ControlFrame, now: Instant) -> bool:
        if not self._budget.try_take(now):
            return False
        if type(frame) is RangeRequest and not self._admission.admit_request(
            frame.pub, size_of(frame), now=now
        ):
            return False
        self._network.publish(frame, now=now)
        self._endpoint.record_sent(ControlSent(frame))
        return True

    def _give_up(self, id_: MessageId, now: Instant) -> None:
        self._endpoint.give_up(id_, now)
