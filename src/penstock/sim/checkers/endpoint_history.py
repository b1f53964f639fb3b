"""The history of one life of an endpoint: its subscriptions, arrivals, deliveries and losses.

A life lasts from the start of a host to its crash. The history comes from what applications do
and what the network delivers; nothing is read from the endpoint. Checks nothing itself; see
`transport`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.sim.checkers.naive_receiver import NaiveImage, NaiveReceiver
from penstock.sim.checkers.send_queue import NaiveSendQueue
from penstock.trace.fates import MissingOutcome as Fate
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import OrderingSettings
from penstock.transport.statistics import DelayStatistics
from penstock.wire.frames.data import Data, MessageId


@dataclass(frozen=True, slots=True, eq=False)
class MessageArrival:
    """A frame that an endpoint must accept, and that a subscription must receive."""

    frame: Data
    image: NaiveImage
    extended_seq: int
    # In global time, and by the host's own clock.
    at: Instant
    local_ns: Instant
    # The earliest arrival that is still buffered with it, directly or through others.
    since: Instant
    # Whether it came as a repair.
    is_repair: bool = False


@dataclass(slots=True, eq=False)
class StreamState:
    """One publisher's messages for one ordered subscription."""

    # The highest sequence number that arrived, and the highest that was delivered.
    highest_received: int
    highest_delivered: int | None = None
    missing: set[int] = field(default_factory=set)
    # The most recently given up, and the limit below which the endpoint no longer lists them.
    given_up: deque[int] = field(default_factory=deque)
    given_up_below: int = -1 << SEQ.bits

    def give_up(self, extended_seq: int, given_up_max: int) -> None:
        """Gives up a missing message; at most `given_up_max` are listed."""
        self.given_up.append(extended_seq)
        if len(self.given_up) > given_up_max:
            self.given_up_below = max(self.given_up_below, self.given_up.popleft() + 1)

    def is_resolved(self, extended_seq: int) -> bool:
        """Whether the message was given up or is below the listed range."""
        if extended_seq in self.given_up:
            return True
        return extended_seq < self.given_up_below and extended_seq not in self.missing


@dataclass(slots=True, eq=False)
class SubscriptionHistory:
    """One subscription, and the state of its streams."""

    subscription_id: int
    predicate: Predicate
    ordering: OrderingSettings
    # The largest bounds it ever had: after a reduction, buffered messages may stay.
    held_max: int
    missing_max: int
    # When, by the host's own clock, the ordering was last changed.
    reconfigured_ns: Instant | None = None
    # Arrivals without a receipt, deliveries, and the fates of missing messages.
    pending: dict[MessageId, deque[MessageArrival]] = field(default_factory=dict)
    delivered: set[tuple[NaiveImage, int]] = field(default_factory=set)
    fates: dict[tuple[NaiveImage, int], Fate] = field(default_factory=dict)
    stream_states: dict[NaiveImage, StreamState] = field(default_factory=dict)

    @classmethod
    def create(
        cls, subscription_id: int, predicate: Predicate, ordering: OrderingSettings
    ) -> SubscriptionHistory:
        """A new subscription."""
        return cls(subscription_id, predicate, ordering, ordering.held_max, ordering.missing_max)

    @property
    def is_ordered(self) -> bool:
        """Whether the subscription is ordered, so that messages may be buffered."""
        return self.ordering.latch is not None

    def reconfigure(self, ordering: OrderingSettings, local_ns: Instant) -> None:
        """Changes the ordering from now on."""
        self.ordering, self.reconfigured_ns = ordering, local_ns
        self.held_max = max(self.held_max, ordering.held_max)
        self.missing_max = max(self.missing_max, ordering.missing_max)

    def waiting_since(self, image: NaiveImage, now: Instant) -> Instant:
        """The earliest arrival that a message of `image` arriving now may be buffered with."""
        return min(
            (c.since for row in self.pending.values() for c in row if c.image is image),
            default=now,
        )

    def expect(self, arrival: MessageArrival) -> None:
        """Expects a receipt for this arrival."""
        self.pending.setdefault(arrival.frame.id, deque()).append(arrival)

    def pop(self, message_id: MessageId) -> MessageArrival | None:
        """Removes and returns the first arrival of this message without a receipt."""
        row = self.pending.get(message_id)
        if row is None:
            return None
        arrival = row.popleft()
        if not row:
            del self.pending[message_id]
        return arrival

    def undelivered(self, image: NaiveImage | None = None) -> list[str]:
        """Arrivals that should have been delivered by now: of one publisher, or of all."""
        return [
            f"no receipt for {message_id}, which came at {arrival.at} ns"
            for message_id, row in self.pending.items()
            for arrival in row
            if image in {None, arrival.image}
        ]

    def unresolved(self, image: NaiveImage | None = None) -> list[str]:
        """Those, and missing messages that should have been resolved."""
        return self.undelivered(image) + [
            f"no end of {extended_seq} of {each.pub}, which was missing"
            for each, stream_state in self.stream_states.items()
            for extended_seq in sorted(stream_state.missing)
            if image in {None, each}
        ]


@dataclass(slots=True, eq=False)
class Reported:
    """A message that a record revealed: it must be missing, unless the table was full."""

    subscription: SubscriptionHistory
    image: NaiveImage
    extended_seq: int
    overflows: int


class EndpointHistory:
    """One endpoint, until it crashes."""

    def __init__(self, name: str, machine: Endpoint[Any], publishers_max: int) -> None:
        self.name = name
        self.machine = machine
        self.receiver = NaiveReceiver(publishers_max)
        self.subscriptions: dict[int, SubscriptionHistory] = {}
        # Predicates of messages that the endpoint caches only for others.
        self.cached_predicates: list[Predicate] = []
        # The counters that the endpoint should have.
        self.expected_counters: Counter[str] = Counter()
        # Since the last inspection: closed images, publishers heard, messages that records
        # revealed; and for publishers of which a repair arrived, the delay estimators before it.
        self.closed_images: dict[tuple[int, int], NaiveImage] = {}
        self.touched_publishers: dict[int, None] = {}
        self.reported: list[Reported] = []
        self.delays_before: dict[int, dict[Any, DelayStatistics]] = {}
        # With congestion control in the run: the messages that wait to be sent, the publishers
        # that messages came from, and the receivers that sent a frame of congestion control.
        self.send_queue: NaiveSendQueue | None = None
        self.received_publishers: set[int] = set()
        self.reporting_receivers: set[int] = set()

    def has_interest(self, message: Message) -> bool:
        """Whether a subscription or a cache of this endpoint matches the message."""
        predicates = [
            *self.cached_predicates,
            *[subscription.predicate for subscription in self.subscriptions.values()],
        ]
        return any(predicate.matches(message) for predicate in predicates)

    def missing_of(self, publisher: int) -> set[tuple[NaiveImage, int]]:
        """All messages of a publisher that a subscription misses."""
        image = self.receiver.images.get(publisher)
        if image is None:
            return set()
        stream_states = [
            subscription.stream_states.get(image) for subscription in self.subscriptions.values()
        ]
        return {
            (image, extended_seq)
            for stream_state in stream_states
            if stream_state
            for extended_seq in stream_state.missing
        }

    def image_of(self, message_id: MessageId) -> NaiveImage | None:
        """The image of a message's publisher and epoch, among those just closed and those known."""
        closed = self.closed_images.get((message_id.pub, message_id.epoch))
        if closed is not None:
            return closed
        known = self.receiver.images.get(message_id.pub)
        return known if known is not None and known.epoch == message_id.epoch else None
