"""What a publisher and its subscribers say to one another so that losses are found.

Digests: the publisher's part is `digests`, the subscriber's `listening` and `watch`. And
the numbers of flows: the publisher's part is `flows`, the subscriber's `tracking` and
`holes`. Every TRACK is answered, so that the subscriber learns how far away the
publisher is.
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
# Messages that one recall of a flow gets: the rest must be asked for again.
_REPAIRS_PER_REQUEST_MAX: Final = 64
# Messages that one recall may ask about; fewer fit the digests that answer it.
_MESSAGES_PER_REQUEST_MAX: Final = 2_048

# What endpoints say to one another beside messages, requests and repairs.
ControlFrame: TypeAlias = Digest | TrackRequest | TrackReply | RangeRequest


class LossDetection:
    """One endpoint's; `send` gets frames that leave, `reveal` digests that came.

    `answer` gets what a message was of which only the number in a flow was named, `kept` gives
    a message of ours by its number, `on_sharers` hears how many listen for a publisher's losses.
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

    # What happens.

    def subscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """One more predicate."""
        self._digest_subscriber.subscribed(interest_id, predicate)
        if self._tracking is not None:
            self._tracking.subscribed(interest_id, predicate, now)

    def unsubscribed(self, interest_id: int, now: Instant) -> None:
        """One less."""
        self._digest_subscriber.unsubscribed(interest_id)
        if self._tracking is not None:
            self._tracking.unsubscribed(interest_id, now)

    def on_sent(self, frame: Data, now: Instant) -> None:
        """A message left here."""
        if frame.flows:
            self.flow_numbers.on_sent(frame, now)
        self._digest_publisher.on_sent(frame, now)

    def on_arrival(self, frame: Data, now: Instant) -> None:
        """A message came that is for us."""
        if self._tracking is not None:
            self._tracking.on_message(frame, now)
        self._digest_subscriber.on_message(frame, now)

    def on_undescribed(
        self, publisher: int, epoch: int, first_seq: int, count: int, now: Instant
    ) -> None:
        """So many messages did not come here of which no record told."""
        self._digest_subscriber.on_undescribed(publisher, epoch, first_seq, count, now)

    def on_frame(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is about something else."""
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
        """Runs everything that is due."""
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

    # What a subscriber hears.

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

    # What a publisher hears.

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
        """Numbers what is asked for, or no longer."""
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
        """Digests that were lost."""
        hold_ns = hold_down_ns(self._distances.distance_ns(request.requester))
        for first, count in request.ranges:
            for digest in self._digest_publisher.resend(
                first, count, request.requester, hold_ns, now
            ):
                self._send(digest, now)

    def _describe_messages(self, request: RangeRequest, now: Instant) -> None:
        """What messages were of which no digest told, as far as they are kept."""
        requested = chain.from_iterable(
            range(first, first + count) for first, count in request.ranges
        )
        frames = filter(
            None, map(self._find_published, islice(requested, _MESSAGES_PER_REQUEST_MAX))
        )
        hold_ns = hold_down_ns(self._distances.distance_ns(request.requester))
        for digest in self._digest_publisher.describe(frames, request.requester, hold_ns, now):
            self._send(digest, now)
