"""Subscribes to the digests of publishers whose records reveal too few losses.

`digest_state` decides, for each publisher that sends us messages, whether its digests are needed.
If so, this module subscribes to them at the network and sends TRACK to the publisher until it
replies, and then at intervals. It requests lost digests, and descriptions of messages that nothing
described, from the publisher (RECALL). It does not look for losses in the digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CONSTRAINTS_MAX
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant, earliest
from penstock.kernel.retry import POSTPONED_NS, Backoff, RetryQueue, SharedLimit
from penstock.kernel.sequence import SEQ
from penstock.transport.detect.digest_publisher import AttributeNames
from penstock.transport.detect.digest_state import UNDESCRIBED_MAX, DigestState
from penstock.transport.detect.flow_numbers import LEASE_NS
from penstock.transport.detect.tracking import RETRY_BACKOFF
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.request_timers import random_backoff
from penstock.transport.statistics import DigestSubscriberStatistics
from penstock.wire.frames.control_routing import digest_filter
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import ALL_MESSAGES, REQUESTED_RANGES_MAX
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

# The token of a TRACK for digests; fixed, since an endpoint has one digest subscription at most.
DIGEST_TOKEN: Final = 0

# More often at first: the reply carries the group size, which grows while subscribers join.
_RENEWAL_BACKOFF: Final = Backoff(first_ns=2 * SECOND, max_ns=LEASE_NS // 3, doublings_max=8)
_UPDATE_NS: Final = 250 * MILLISECOND
# The time to find out whether a new publisher's digests are needed, and to receive the first.
_NEW_PUBLISHER_WAIT_NS: Final = 3 * _UPDATE_NS
_PUBLISHERS_MAX: Final = 4_096
# Missing digests and undescribed messages, of all publishers together.
_PENDING_MAX: Final = 65_536
# Least wait between two requests for the same digest, in one-way distances to the publisher.
_RETRY_DISTANCES: Final = 4
# Longest random wait before the first request, in distances, and the group size it is drawn for.
_SPREAD_DISTANCES: Final = 2.0
_ASSUMED_GROUP_SIZE: Final = 100
# Attribute names of this total length fit a frame in any encoding.
_ATTRIBUTES_CHARS_MAX: Final = 250


class DigestSubscriber:
    """The digest subscriptions of one endpoint.

    Without `requests_digests` it subscribes only for the numbers of tracked flows.
    `covers_all_losses` says whether those numbers reveal every loss of a publisher.
    """

    def __init__(
        self,
        endpoint_id: int,
        network: Network[Carried],
        distances: PeerDistances,
        *,
        requests_digests: bool,
        needs_flow_numbers: Callable[[], bool],
        covers_all_losses: Callable[[int], bool],
        subscription_ids: Iterator[int],
        draw: Callable[[], float],
        send: Callable[[TrackRequest | RangeRequest, Instant], bool],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._network: Final = network
        self._distances: Final = distances
        self._requests_digests: Final = requests_digests
        # Whether digests are needed for the numbers of tracked flows; changes over time.
        self._needs_flow_numbers: Final = needs_flow_numbers
        self._covers_all_losses: Final = covers_all_losses
        self._subscription_ids: Final = subscription_ids
        self._draw: Final = draw
        self._send: Final = send
        # In order of the last message received, oldest first.
        self._publishers: Final[BoundedDict[int, DigestState]] = BoundedDict(_PUBLISHERS_MAX)
        self._pending_limit: Final = SharedLimit(_PENDING_MAX)
        self._update_at: Instant | None = None
        # Lower bound on the next due request; nothing may be left to request by then.
        self._range_request_at: Instant | None = None
        # Attribute names of each interest, and all of them as a predicate for TRACK.
        self._attributes: Final[dict[int, AttributeNames]] = {}
        self._requested_attributes: Predicate | None = None

    # Interests.

    def subscribed(self, interest_id: int, predicate: Predicate) -> None:
        """Add an interest: digests must contain the attributes of its predicate."""
        self._attributes[interest_id] = attribute_names(predicate)
        self._update_requested_attributes()

    def unsubscribed(self, interest_id: int) -> None:
        """Remove an interest."""
        self._attributes.pop(interest_id, None)
        self._update_requested_attributes()

    def _update_requested_attributes(self) -> None:
        """Announce a changed set of attribute names to all publishers without delay."""
        requested = _attributes_predicate(frozenset().union(*self._attributes.values()))
        if requested != self._requested_attributes:
            self._requested_attributes = requested
            for state in self._publishers.values():
                state.renew_at = 0

    # Input.

    def on_message(self, frame: Data, now: Instant) -> None:
        """Count a message that matched one of our interests."""
        state = self._publishers.get(frame.pub)
        if state is not None:
            self._publishers.move_to_end(frame.pub)
            state.on_message(frame)
        elif self._requests_digests or self._needs_flow_numbers():
            evicted = self._publishers.make_room(frame.pub)
            if evicted is not None:
                _, evicted_state = evicted
                self._unsubscribe(evicted_state, now)
                evicted_state.missing_digests.clear()
                evicted_state.undescribed.clear()
            state = self._publishers[frame.pub] = DigestState(frame, self._pending_limit)
            if self._needs_flow_numbers():
                self._subscribe(frame.pub, state, now)
            if self._update_at is None:
                self._update_at = now + _UPDATE_NS

    def on_digest(self, digest: Digest, now: Instant) -> bool:
        """Record a digest; return False if it is not for us or of no publisher known here."""
        state = self._publishers.get(digest.pub)
        if (
            state is None
            or state.epoch != digest.epoch
            or digest.to not in (None, self._endpoint_id)
        ):
            return False
        if (
            state.last_digest_seq is None
            and digest.to is None
            and not digest.is_reply
            and self._requests_digests
        ):
            state.request_before(digest, now)
        # Other subscribers may miss the same digest, and it is resent to all: a random wait
        # lets one request serve the others.
        spread = random_backoff(_SPREAD_DISTANCES, _ASSUMED_GROUP_SIZE, self._draw())
        state.on_digest(digest, round(spread * self._distances.distance_ns(digest.pub)), now)
        self._schedule_range_request(state)
        return True

    def on_reply(self, publisher: int, now: Instant) -> None:
        """Handle a publisher's reply to TRACK: renewing at intervals is enough from now on."""
        state = self._publishers.get(publisher)
        if state is not None and state.requested_attributes == self._requested_attributes:
            state.unanswered = 0
            state.renew_at = now + _RENEWAL_BACKOFF.wait_ns(state.replies)
            state.replies += 1

    def on_undescribed(
        self, publisher: int, epoch: int, first_seq: int, count: int, now: Instant
    ) -> None:
        """Request descriptions of `count` messages that no record described."""
        state = self._publishers.get(publisher)
        if (
            state is None
            or state.epoch != epoch
            or state.wants_digests
            or not self._requests_digests
        ):
            # With digests, they will be described anyway.
            return
        if not self._covers_all_losses(publisher):
            # For a new publisher, digests are usually requested soon and describe them.
            wait_ns = self._distances.distance_ns(publisher) + (
                0 if state.has_detection_ratio else _NEW_PUBLISHER_WAIT_NS
            )
            state.undescribed.add(
                SEQ.run_to(first_seq + count - 1, min(count, UNDESCRIBED_MAX)),
                now + wait_ns,
                skipped=max(0, count - UNDESCRIBED_MAX),
            )
            self._schedule_range_request(state)

    # Timers.

    def wake(self, now: Instant) -> None:
        """Update the subscriptions and send the requests that are due."""
        if self._update_at is not None and now >= self._update_at:
            self._update_at = now + _UPDATE_NS
            for publisher, state in self._publishers.items():
                self._update_subscription(publisher, state, now)
        if self._range_request_at is not None and now >= self._range_request_at:
            self._range_request_at = None
            for publisher, state in self._publishers.items():
                self._request_ranges(publisher, state, state.missing_digests, None, now)
                self._request_ranges(publisher, state, state.undescribed, ALL_MESSAGES, now)
                self._schedule_range_request(state)

    def statistics(self) -> DigestSubscriberStatistics:
        """The size of everything bounded here."""
        states = self._publishers.values()
        return DigestSubscriberStatistics(
            publishers=len(states),
            missing_digests=sum(len(state.missing_digests) for state in states),
            undescribed=sum(len(state.undescribed) for state in states),
        )

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return earliest(self._update_at, self._range_request_at)

    def _schedule_range_request(self, state: DigestState) -> None:
        for pending in (state.missing_digests, state.undescribed):
            if pending:
                self._range_request_at = earliest(self._range_request_at, pending.next_wakeup())

    def _update_subscription(self, publisher: int, state: DigestState, now: Instant) -> None:
        state.update_detection_ratio()
        wants_digests = (
            self._requests_digests
            and state.wants_digests
            and not self._covers_all_losses(publisher)
        )
        if wants_digests or self._needs_flow_numbers():
            self._subscribe(publisher, state, now)
        else:
            self._unsubscribe(state, now)
        if not wants_digests:
            # No TRACK needed: digests with the numbers of tracked flows are sent anyway.
            return
        if now >= state.renew_at:
            state.renew_at = now + RETRY_BACKOFF.wait_ns(state.unanswered)
            state.unanswered += 1
            state.requested_attributes = self._requested_attributes
            self._send(self._track_request(publisher, now), now)

    def _track_request(self, publisher: int, now: Instant) -> TrackRequest:
        return TrackRequest(
            subscriber=self._endpoint_id,
            pub=publisher,
            token=DIGEST_TOKEN,
            send_ts_us=stamp_us(now, ECHO_STAMP_BITS),
            is_digest_subscription=True,
            predicate=self._requested_attributes,
        )

    def _subscribe(self, publisher: int, state: DigestState, now: Instant) -> None:
        """Subscribe to the publisher's digests at the network."""
        if state.subscription_id is None:
            state.subscription_id = next(self._subscription_ids)
            state.renew_at = 0
            self._network.subscribe(state.subscription_id, digest_filter(publisher), now=now)

    def _unsubscribe(self, state: DigestState, now: Instant) -> None:
        if state.subscription_id is not None:
            self._network.unsubscribe(state.subscription_id, now=now)
            state.subscription_id = state.last_digest_seq = None
            state.missing_digests.clear()

    def _request_ranges(
        self,
        publisher: int,
        state: DigestState,
        pending: RetryQueue[int],
        flow_id: int | None,
        now: Instant,
    ) -> None:
        seqs = sorted(pending.due(now, least_ns=self._retry_ns(publisher))) if pending else ()
        if seqs:
            request = RangeRequest(
                pub=publisher,
                epoch=state.epoch,
                requester=self._endpoint_id,
                send_ts_us=stamp_us(now),
                flow_id=flow_id,
                ranges=tuple(SEQ.runs(seqs))[:REQUESTED_RANGES_MAX],
            )
            if not self._send(request, now):
                pending.postpone(seqs, now + POSTPONED_NS)

    def _retry_ns(self, publisher: int) -> Duration:
        return _RETRY_DISTANCES * self._distances.distance_ns(publisher)


def attribute_names(predicate: Predicate) -> AttributeNames:
    """Return the names of the attributes in all constraints of a predicate."""
    return frozenset(c.attribute for f in predicate.filters for c in f.constraints)


def _attributes_predicate(attributes: AttributeNames) -> Predicate | None:
    """Encode attribute names as EXISTS constraints; None, meaning all, if they are too many."""
    if len(attributes) > CONSTRAINTS_MAX or sum(map(len, attributes)) > _ATTRIBUTES_CHARS_MAX:
        return None
    return Predicate([Filter([Constraint(name, Op.EXISTS, None) for name in attributes])])
