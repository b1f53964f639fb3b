"""Combines digests and tracked flows for one endpoint, as publisher and as subscriber.

Digests: `digest_publisher`, and on the subscriber side `digest_subscriber` and `digest_state`.
Tracked flows: `flow_numbers`, and on the subscriber side `tracking` and `flow_gaps`.
Every TRACK gets a reply, which also lets the subscriber measure its distance to the publisher.
This module routes frames between these parts; it does not send repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec.structs import replace

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant, earliest
from penstock.transport.detect.digest_publisher import DigestPublisher
from penstock.transport.detect.digest_subscriber import (
    DIGEST_TOKEN,
    DigestSubscriber,
    attribute_names,
)
from penstock.transport.detect.flow_numbers import FlowClaim, FlowNumbers, NumberedMessage
from penstock.transport.detect.tracking import FlowTracking
from penstock.transport.network import Carried, Network
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.request_timers import hold_down_ns
from penstock.transport.statistics import DetectionStatistics
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import ALL_MESSAGES

_GROUP_SIZE_MAX: Final = (1 << 16) - 1
# Repairs sent for one RECALL of a flow; the requester must request the rest again.
_REPAIRS_PER_REQUEST_MAX: Final = 64
# Messages looked up for one RECALL of descriptions; the digests in reply have room for fewer.
_MESSAGES_PER_REQUEST_MAX: Final = 2_048

# The frames of loss detection, as opposed to messages, requests and repairs.
ControlFrame: TypeAlias = Digest | TrackRequest | TrackReply | RangeRequest


class UnrecordedLosses:
    """Loss detection of one endpoint.

    `send` sends a frame and returns whether it was allowed; `deliver_digest` receives digests
    with descriptions. `repair` sends a message that was requested by its number in a flow;
    `find_published` looks up one of our messages by sequence number; `on_group_size` receives a
    publisher's id and the number of its digest subscribers.
    """

    def __init__(
        self,
        endpoint_id: int,
        epoch: int,
        encoder: Encoder,
        network: Network[Carried],
        distances: PeerDistances,
        *,
        requests_digests: bool,
        tracking: FlowTracking | None,
        tracked_flows_max: int,
        subscription_ids: Iterator[int],
        draw: Callable[[], float],
        send: Callable[[ControlFrame, Instant], bool],
        deliver_digest: Callable[[Digest, Instant], None],
        repair: Callable[[RangeRequest, NumberedMessage, Instant], None],
        find_published: Callable[[int], Data | None],
        on_group_size: Callable[[int, int], None],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._epoch: Final = epoch
        self._distances: Final = distances
        self._send: Final = send
        self._deliver_digest: Final = deliver_digest
        self._repair: Final = repair
        self._find_published: Final = find_published
        self._on_group_size: Final = on_group_size
        self._tracking: Final = tracking
        self.flow_numbers: Final = FlowNumbers(tracked_flows_max)
        self._digest_publisher: Final = DigestPublisher(
            endpoint_id, epoch, encoder, self.flow_numbers
        )
        self._digest_subscriber: Final = DigestSubscriber(
            endpoint_id,
            network,
            distances,
            requests_digests=requests_digests,
            needs_flow_numbers=lambda: tracking is not None and tracking.has_filters,
            covers_all_losses=lambda publisher: (
                tracking is not None and tracking.covers_all_losses(publisher)
            ),
            subscription_ids=subscription_ids,
            draw=draw,
            send=send,
        )

    # Input.

    def subscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """Add an interest."""
        self._digest_subscriber.subscribed(interest_id, predicate)
        if self._tracking is not None:
            self._tracking.subscribed(interest_id, predicate, now)

    def unsubscribed(self, interest_id: int, now: Instant) -> None:
        """Remove an interest."""
        self._digest_subscriber.unsubscribed(interest_id)
        if self._tracking is not None:
            self._tracking.unsubscribed(interest_id, now)

    def on_sent(self, frame: Data, now: Instant) -> None:
        """Record a message that this endpoint published."""
        if frame.flows:
            self.flow_numbers.on_sent(frame, now)
        self._digest_publisher.on_sent(frame, now)

    def on_arrival(self, frame: Data, now: Instant) -> None:
        """Record a received message that matched one of our interests."""
        if self._tracking is not None:
            self._tracking.on_message(frame, now)
        self._digest_subscriber.on_message(frame, now)

    def on_undescribed(
        self, publisher: int, epoch: int, first_seq: int, count: int, now: Instant
    ) -> None:
        """Handle `count` messages that did not arrive and that no record described."""
        self._digest_subscriber.on_undescribed(publisher, epoch, first_seq, count, now)

    def on_frame(self, frame: TransportFrame, now: Instant) -> bool:
        """Handle a received frame; return False if it does not concern loss detection."""
        if type(frame) is Digest:
            self._on_digest(frame, now)
        elif type(frame) is TrackRequest:
            self._on_track_request(frame, now)
        elif type(frame) is TrackReply:
            self._on_track_reply(frame, now)
        elif type(frame) is RangeRequest:
            self._on_range_request(frame, now)
        else:
            return False
        return True

    def wake(self, now: Instant) -> None:
        """Run everything that is due."""
        if self._digest_publisher.due_at is not None and now >= self._digest_publisher.due_at:
            for digest in self._digest_publisher.next_digests(now):
                self._send(digest, now)
        self._digest_subscriber.wake(now)
        if self._tracking is not None:
            self._tracking.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        tracking = None if self._tracking is None else self._tracking.next_wakeup()
        return earliest(
            self._digest_publisher.due_at, self._digest_subscriber.next_wakeup(), tracking
        )

    def statistics(self) -> DetectionStatistics:
        """The size of everything bounded here."""
        return DetectionStatistics(
            digest_publisher=self._digest_publisher.statistics(),
            digest_subscriber=self._digest_subscriber.statistics(),
            flow_numbers=self.flow_numbers.statistics(),
            tracking=None if self._tracking is None else self._tracking.statistics(),
        )

    # Subscriber side.

    def _on_digest(self, digest: Digest, now: Instant) -> None:
        if not self._digest_subscriber.on_digest(digest, now):
            return
        if self._tracking is not None and digest.flows:
            self._tracking.on_last_numbers(digest, now)
        if digest.count:
            self._deliver_digest(digest, now)

    def _on_track_reply(self, reply: TrackReply, now: Instant) -> None:
        if reply.to != self._endpoint_id:
            return
        self._distances.on_echo(reply.pub, reply.echo_ts_us, 0, now=now)
        if reply.token == DIGEST_TOKEN:
            self._digest_subscriber.on_reply(reply.pub, now)
            if reply.group_size:
                self._on_group_size(reply.pub, reply.group_size)
        elif self._tracking is not None:
            self._tracking.on_reply(reply, now)

    # Publisher side.

    def _on_track_request(self, request: TrackRequest, now: Instant) -> None:
        if request.pub != self._endpoint_id:
            return
        reply = TrackReply(
            to=request.subscriber,
            pub=self._endpoint_id,
            epoch=self._epoch,
            token=request.token,
            echo_ts_us=request.send_ts_us,
            hold_100us=0,
        )
        if not request.is_digest_subscription:
            reply = self._assign_flows(request, reply, now)
        elif not request.is_end:
            attributes = None if request.predicate is None else attribute_names(request.predicate)
            group_size = self._digest_publisher.subscribe(request.subscriber, attributes, now)
            reply = replace(reply, group_size=min(group_size, _GROUP_SIZE_MAX))
        self._send(reply, now)

    def _assign_flows(self, request: TrackRequest, reply: TrackReply, now: Instant) -> TrackReply:
        """Claim, renew or release the flows of a TRACK request, and complete the reply."""
        claim = FlowClaim(request.subscriber, request.token)
        if request.is_end:
            self.flow_numbers.release(claim)
            return reply
        if request.predicate is not None:
            flows = tuple(self.flow_numbers.claim(claim, request.predicate, now))
            reply = replace(reply, flows=flows)
        elif not self.flow_numbers.renew(claim, now):
            return replace(reply, token_is_known=False)
        self._digest_publisher.start(now)
        return replace(reply, group_size=min(self.flow_numbers.group_size(claim), _GROUP_SIZE_MAX))

    def _on_range_request(self, request: RangeRequest, now: Instant) -> None:
        if (request.pub, request.epoch) != (self._endpoint_id, self._epoch):
            return
        if request.flow_id is None:
            self._resend_digests(request, now)
        elif request.flow_id == ALL_MESSAGES:
            self._describe_messages(request, now)
        else:
            messages = chain.from_iterable(
                self.flow_numbers.messages_at(request.flow_id, first, count)
                for first, count in request.ranges
            )
            for message in islice(messages, _REPAIRS_PER_REQUEST_MAX):
                self._repair(request, message, now)

    def _resend_digests(self, request: RangeRequest, now: Instant) -> None:
        """Resend the requested digests that are still stored."""
        hold_ns = hold_down_ns(self._distances.distance_ns(request.requester))
        for first, count in request.ranges:
            for digest in self._digest_publisher.resend(
                first, count, request.requester, hold_ns, now
            ):
                self._send(digest, now)

    def _describe_messages(self, request: RangeRequest, now: Instant) -> None:
        """Send digests of the requested messages that are still cached."""
        requested = chain.from_iterable(
            range(first, first + count) for first, count in request.ranges
        )
        frames = filter(
            None, map(self._find_published, islice(requested, _MESSAGES_PER_REQUEST_MAX))
        )
        hold_ns = hold_down_ns(self._distances.distance_ns(request.requester))
        for digest in self._digest_publisher.describe(frames, request.requester, hold_ns, now):
            self._send(digest, now)
