"""The endpoint of the transport in one application.

It sits between an application and a best-effort publish/subscribe network and offers the
same operations: `publish`, `subscribe`, `unsubscribe`. A message sent gets a sequence
number, a timestamp and a record of the messages before it. The receiver uses them to
deliver each publisher's messages in order and to detect losses.

1. Received messages pass through `receive.inbound` to the subscriptions that order them.
2. Deliveries and absences come out of `poll`.
3. Losses go to `recovery`, if configured; repairs return through `on_repair`.

Does not know the implementation of the network: any `Network` will do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, Generic, Protocol

import msgspec

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Deliver, Output, Port, Record
from penstock.kernel.timers import Timers
from penstock.trace.fates import ReceiverFate
from penstock.transport.congestion.controller import CongestionController
from penstock.transport.congestion.receiver.feedback_sender import FrameSent
from penstock.transport.congestion.settings import check_weight
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Loss, Sent, Unseen
from penstock.transport.identity import Identity
from penstock.transport.inbox import UnicastInbox
from penstock.transport.network import Carried, Network
from penstock.transport.order.missing import MissingEntry
from penstock.transport.order.stream_context import StreamContext
from penstock.transport.publish.congestion_header import NO_CONGESTION_HEADER, CongestionHeader
from penstock.transport.publish.sequencer import Sequencer
from penstock.transport.receive.inbound import Inbound
from penstock.transport.receive.subscriptions import SharedInterest
from penstock.transport.recovery.admission import Admission
from penstock.transport.recovery.facts import FrameSent as Recorded
from penstock.transport.recovery.recovery import Recovery
from penstock.transport.requests_as_messages import RequestsAsMessages
from penstock.transport.settings import DEFAULT, EndpointSettings, OrderingSettings
from penstock.transport.statistics import EndpointStatistics, PublisherStatistics
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data

_GIVEN_UP: Final = ReceiverFate.GIVEN_UP


class LossObserver(Protocol):
    """Is notified of losses, as recovery and congestion control are."""

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """Take a declared loss, or the retraction of one."""


class Endpoint(Inbound, Generic[Carried]):
    """A machine over `network`.

    `Deliver.item` is a `Delivery`, `Absence`, `Unseen` or `DroppedAtSource`. `endpoint_id` is
    the publisher id of this endpoint, `epoch` is newer at each start, and `encoder` is the same
    for all endpoints of the network. Recovery and congestion control need randomness: `draw`
    returns a number from 0 to 1.
    """

    def __init__(
        self,
        network: Network[Carried],
        *,
        endpoint_id: int,
        epoch: int,
        encoder: Encoder,
        settings: EndpointSettings | None = None,
        observers: Sequence[LossObserver] = (),
        draw: Callable[[], float] | None = None,
        admission: Admission | None = None,
    ) -> None:
        # Public for drivers that must report link changes to the network.
        self.network: Final = network
        super().__init__(encoder, settings or EndpointSettings())
        self._endpoint_id: Final = endpoint_id
        self._sequencer: Final = Sequencer(endpoint_id, epoch, encoder, self._settings)
        self._loss_observers = tuple(observers)
        self._subscription_ids: Final = count(1)
        self._subscriptions: Final[dict[int, StreamContext]] = {}
        # Interests that are cached for other endpoints, by cache id.
        self._cache_interests: Final[dict[int, SharedInterest]] = {}
        self._timers: Final[Timers[MissingEntry]] = Timers()
        self._outputs: Final[deque[Output[Carried]]] = deque()
        self._pending_losses: Final[deque[tuple[Loss, Instant]]] = deque()
        self._now: Instant = 0
        recovery, congestion = self._settings.recovery, self._settings.congestion
        if (recovery or congestion) is not None and draw is None:
            raise UsageError(
                "recovery and congestion control need chance: give the endpoint a draw"
            )
        adapted_network = network
        if recovery is not None and recovery.requests_as == "message":
            adapted_network = RequestsAsMessages(network, encoder, self._subscription_ids)
        self._inbox: Final = UnicastInbox(endpoint_id, adapted_network, self._subscription_ids)
        if congestion is not None:
            assert draw is not None
            self.congestion = CongestionController(
                endpoint_id,
                epoch,
                congestion,
                encoder,
                draw=draw,
                send=self._send_control,
                counters=self.counters,
            )
            self._loss_observers = (*self._loss_observers, self.congestion)
        if recovery is not None:
            assert draw is not None
            self.recovery = Recovery(
                Identity(endpoint_id, epoch, encoder),
                recovery,
                adapted_network,
                self,
                self._inbox,
                subscription_ids=self._subscription_ids,
                draw=draw,
                counters=self.counters,
                admission=admission or self.congestion,
            )
            self._loss_observers = (*self._loss_observers, self.recovery)

    # Application interface

    def publish(self, message: Message, *, now: Instant) -> Data:
        """Send a message at once and return its frame; with congestion control use `submit`."""
        if self.congestion is not None:
            raise UsageError("congestion control decides when messages leave: offer it instead")
        self._now = now
        return self._send(message, NO_CONGESTION_HEADER, now)

    def submit(self, message: Message, *, now: Instant) -> None:
        """Send a message, at once or when congestion control allows.

        If the send queue overflows, delivers `DroppedAtSource` for this message or another.
        Records `Sent` when the message is sent.
        """
        self._now = now
        self._sequencer.check_size(message)
        if self.congestion is None:
            self._outputs.append(Record(Sent(self._send(message, NO_CONGESTION_HEADER, now))))
            return
        self._inbox.open(now)
        dropped = self.congestion.submit(message, now)
        if dropped is not None:
            self.counters["dropped_at_source"] += 1
            self._outputs.append(
                Deliver(DroppedAtSource(dropped.message, now, now - dropped.submitted_ns))
            )
        self._send_ready(now)

    @property
    def send_queue_is_full(self) -> bool:
        """Whether the send queue is so full that the application should stop submitting."""
        return self.congestion is not None and self.congestion.send_queue_is_full

    def has_room_for(self, message: Message, *, now: Instant) -> bool:
        """Whether the application can submit this message without waiting."""
        return self.congestion is None or self.congestion.has_room_for(message, now)

    @property
    def queued_messages(self) -> int:
        """Number of messages submitted but not yet sent."""
        return 0 if self.congestion is None else self.congestion.queued_messages

    def _send_ready(self, now: Instant) -> None:
        """Send the queued messages that congestion control allows."""
        assert self.congestion is not None
        for queued, header in self.congestion.ready(now):
            frame = self._send(queued.message, header, now)
            self._outputs.append(Record(Sent(frame, now - queued.submitted_ns)))
        self.congestion.update_deadline(now)

    def _send(self, message: Message, header: CongestionHeader, now: Instant) -> Data:
        flow_tags = () if self.recovery is None else self.recovery.flow_tags(message)
        frame = self._sequencer.next_frame(message, now, flow_tags, header)
        self.network.publish(frame, now=now)
        if self.recovery is not None:
            self.recovery.on_sent(frame, now)
        return frame

    def subscribe(
        self,
        predicate: Predicate,
        *,
        ordering: OrderingSettings = DEFAULT,
        weight: float = 1.0,
        now: Instant,
    ) -> int:
        """Return the new subscription's id. Equal predicates share one network subscription.

        Under congestion, each interest gets a share of the rate in proportion to its `weight`;
        for equal predicates the last `weight` applies.
        """
        check_weight(weight)
        subscription_id = next(self._subscription_ids)
        interest = self._acquire_interest(subscription_id, predicate, now)
        recovery = self._settings.recovery
        subscription = StreamContext(
            subscription_id,
            interest,
            ordering,
            timers=self._timers,
            timers_max=self._settings.missing_total_max,
            deliver=self._deliver,
            on_loss=self._queue_loss,
            counters=self.counters,
            repair_timeout_ns=None if recovery is None else recovery.give_up_ns,
        )
        interest.subscriptions[subscription_id] = self._subscriptions[subscription_id] = (
            subscription
        )
        if self.congestion is not None:
            self.congestion.set_weight(interest.interest_id, weight)
        return subscription_id

    def reconfigure(self, subscription: int, ordering: OrderingSettings, *, now: Instant) -> None:
        """Change the ordering settings of a subscription from now on."""
        context = self._subscription(subscription)
        streams = [
            image.streams[subscription]
            for image in self._images.values()
            if subscription in image.streams
        ]
        if ordering.latch is None:
            for stream in streams:
                stream.stop_ordering(now)
        context.set_ordering(ordering)
        if ordering.latch is not None:
            for stream in streams:
                stream.reconfigure(now)
        self._route_losses()

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Deliver the buffered messages and end the subscription: it delivers nothing more."""
        self._now = now
        interest = self._subscription(subscription).interest
        self._close_streams(subscription, now)
        del self._subscriptions[subscription], interest.subscriptions[subscription]
        self._release_interest(interest, now)
        self._route_losses()

    def open_cache(self, predicate: Predicate, *, now: Instant) -> int:
        """Cache matching messages for other endpoints, delivering none; return the cache's id."""
        recovery = self._settings.recovery
        if recovery is None or not recovery.volunteers:
            raise UsageError(
                "to keep messages for others takes recovery: give a RecoverySettings"
                " whose volunteers is true"
            )
        cache_id = next(self._subscription_ids)
        interest = self._cache_interests[cache_id] = self._acquire_interest(
            cache_id, predicate, now
        )
        interest.cache_ids.add(cache_id)
        return cache_id

    def close_cache(self, cache_id: int, *, now: Instant) -> None:
        """End a cache opened by `open_cache`; messages already cached still serve requests."""
        interest = self._cache_interests.pop(cache_id, None)
        if interest is None:
            raise UsageError(f"there is no offer {cache_id}: it was withdrawn, or never made")
        self._now = now
        interest.cache_ids.remove(cache_id)
        self._release_interest(interest, now)

    # Shared interests

    def _acquire_interest(
        self, interest_id: int, predicate: Predicate, now: Instant
    ) -> SharedInterest:
        self._now = now
        interest = self._interests_by_predicate.get(predicate)
        if interest is None:
            interest = SharedInterest(interest_id, predicate, self._encoder)
            self.network.subscribe(interest_id, predicate, now=now)
            self._interests_by_predicate[predicate] = self._interests_by_id[interest_id] = interest
            self._index_interest(interest)
            if self.recovery is not None:
                self.recovery.subscribed(interest_id, predicate, now)
            if self.congestion is not None:
                self._inbox.open(now)
                self.congestion.subscribed(interest_id, predicate)
        return interest

    def _release_interest(self, interest: SharedInterest, now: Instant) -> None:
        """Unsubscribe from the network, unless a subscription or cache still uses the interest."""
        if interest.subscriptions or interest.cache_ids:
            return
        del (
            self._interests_by_predicate[interest.predicate],
            self._interests_by_id[interest.interest_id],
        )
        if self._index is not None:
            self._index.remove(interest.interest_id)
        self.network.unsubscribe(interest.interest_id, now=now)
        if self.recovery is not None:
            self.recovery.unsubscribed(interest.interest_id, now)
        if self.congestion is not None:
            self.congestion.unsubscribed(interest.interest_id, interest.predicate, now)

    # Driver interface

    def receive(self, frame: Carried, *, via: Port, now: Instant) -> None:
        """Take a frame from the network."""
        self._now = now
        self.network.receive(frame, via=via, now=now)
        self._drain_network(now)
        if self._pending_losses:
            self._route_losses()
        if self.congestion is not None and self.congestion.queued_messages:
            # The frame may have raised the rate of a flow, or ended the flow.
            self._send_ready(now)

    def wake(self, *, now: Instant) -> None:
        """Run everything that is due."""
        self._now = now
        self.network.wake(now=now)
        self._drain_network(now)
        for missing in self._timers.due(now):
            missing.stream.on_timer(missing, now)
        self._route_losses()
        if self.congestion is not None:
            self.congestion.wake(now)
            self._send_ready(now)
        # After sending, because a message sent may complete a digest, which is then due.
        if self.recovery is not None:
            self.recovery.wake(now=now)

    def next_wakeup(self) -> Instant | None:
        """Return when `wake` must next be called, if at all."""
        recovery = None if self.recovery is None else self.recovery.next_wakeup()
        congestion = None if self.congestion is None else self.congestion.next_wakeup()
        return earliest(
            self.network.next_wakeup(), self._timers.next_wakeup(), recovery, congestion
        )

    def poll(self) -> Output[Carried] | None:
        """Return the next output, if any."""
        if self._outputs:
            return self._outputs.popleft()
        output = self.network.poll()
        if type(output) is not Deliver:
            return output
        # The driver called the network directly, so it has frames that we did not drain.
        self._on_frame(output.item, self._now)
        self._route_losses()
        return self.poll()

    # What can be seen from outside.

    @property
    def endpoint_id(self) -> int:
        """What it publishes under."""
        return self._endpoint_id

    @property
    def encoder(self) -> Encoder:
        """What fingerprints and Bloom sets are made with, the same for the whole network."""
        return self._encoder

    @property
    def settings(self) -> EndpointSettings:
        """What it was made with."""
        return self._settings

    def statistics(self) -> EndpointStatistics:
        """The size of everything bounded here; computed when asked."""
        return EndpointStatistics(
            subscriptions=len(self._subscriptions),
            caches=len(self._cache_interests),
            interests=len(self._interests_by_id),
            publishers=tuple([image.statistics() for image in self._images.values()]),
            timers=len(self._timers),
            outputs=len(self._outputs),
            pending_losses=len(self._pending_losses),
            recovery=None if self.recovery is None else self.recovery.statistics(),
            congestion=None if self.congestion is None else self.congestion.statistics(),
        )

    def publisher_statistics(self, publisher: int) -> PublisherStatistics | None:
        """The same of one publisher; None if it is not remembered."""
        image = self._images.get(publisher)
        return None if image is None else image.statistics()

    # Input from the network

    def _drain_network(self, now: Instant) -> None:
        """Take the outputs of the network below: received messages, and frames to send."""
        poll = self.network.poll
        while (output := poll()) is not None:
            if type(output) is Deliver:
                self._on_frame(output.item, now)
            else:
                self._outputs.append(output)

    def _on_frame(self, item: object, now: Instant) -> None:
        if type(item) is Data:
            if item.congestion_experienced:
                # The mark is for this receiver only: the cached copy must equal the original.
                item = msgspec.structs.replace(item, congestion_experienced=False)
                self.on_data(item, now, is_marked=True)
            else:
                self.on_data(item, now)
        elif not isinstance(item, TransportFrame) or not (
            (self.recovery is not None and self.recovery.on_frame(item, now))
            or (self.congestion is not None and self.congestion.on_frame(item, now))
        ):
            self.counters["not_data"] += 1

    def _send_control(self, fact: FrameSent, now: Instant) -> None:
        """Send a congestion control frame, and record it for the trace."""
        self._outputs.append(Record(fact))
        self.network.publish(fact.frame, now=now)

    def record_sent(self, fact: Recorded) -> None:
        """Record a frame that recovery sent, for the trace."""
        self._outputs.append(Record(fact))

    def _subscription(self, subscription_id: int) -> StreamContext:
        found = self._subscriptions.get(subscription_id)
        if found is None:
            raise UsageError(
                f"there is no subscription {subscription_id}: it was ended, or never begun"
            )
        return found

    # Output

    def _deliver(self, fact: Delivery | Absence | Unseen) -> None:
        self._outputs.append(Deliver(fact))
        if (
            self.recovery is not None
            and type(fact) is Absence
            and fact.resolution is _GIVEN_UP
            and not self._is_awaited(fact.id)
        ):
            self.recovery.cancel(fact.id)

    def _queue_loss(self, loss: Loss, now: Instant) -> None:
        """Queue a loss: an observer may call back while the stream is still being updated."""
        if self._loss_observers:
            self._pending_losses.append((loss, now))

    def _route_losses(self) -> None:
        while self._pending_losses:
            loss, now = self._pending_losses.popleft()
            for observer in self._loss_observers:
                observer.on_loss(loss, now=now)
