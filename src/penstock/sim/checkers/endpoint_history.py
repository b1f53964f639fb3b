"""What a checker knows of one life of an endpoint: what was asked for, came, and was told.

A life lasts from the start of a host to its crash. Made of what applications do
and what the network hands over; nothing in here is asked of the endpoint. Judges
nothing: see `transport`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.kernel.instant import Instant
from penstock.sim.checkers.naive_receiver import NaiveImage, NaiveReceiver
from penstock.sim.checkers.send_queue import NaiveSendQueue
from penstock.trace.fates import MissingOutcome as Fate
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.serial import SEQ_BITS


@dataclass(frozen=True, slots=True, eq=False)
class MessageArrival:
    """A frame that an endpoint must take, and that a subscription is to have."""

    frame: Data
    image: NaiveImage
    extended_seq: int
    # Global, and by the host's own clock.
    at: Instant
    local_ns: Instant
    # When the first of those came that still wait with it, or with one of these.
    since: Instant
    # Whether others had kept it.
    is_repair: bool = False


@dataclass(slots=True, eq=False)
class StreamState:
    """One publisher's messages for one subscription, while they are ordered."""

    # The highest that came, and the highest that was handed over.
    highest_received: int
    highest_delivered: int | None = None
    missing: set[int] = field(default_factory=set)
    # The last that were given up, and the limit below which this is no longer known one by one.
    given_up: deque[int] = field(default_factory=deque)
    given_up_below: int = -1 << SEQ_BITS

    def give_up(self, extended_seq: int, given_up_max: int) -> None:
        """Nothing is hoped for it any more; `most` are remembered."""
        self.given_up.append(extended_seq)
        if len(self.given_up) > given_up_max:
            self.given_up_below = max(self.given_up_below, self.given_up.popleft() + 1)

    def is_resolved(self, extended_seq: int) -> bool:
        """Whether nothing is to come of it any more."""
        if extended_seq in self.given_up:
            return True
        return extended_seq < self.given_up_below and extended_seq not in self.missing


@dataclass(slots=True, eq=False)
class SubscriptionHistory:
    """One subscription."""

    subscription_id: int
    predicate: Predicate
    ordering: OrderingSettings
    # The largest bounds that it ever had: when they are lowered, what is there may stay.
    held_max: int
    missing_max: int
    # When, by the host's own clock, the ordering was changed last.
    reconfigured_ns: Instant | None = None
    # What came and was not told of yet, what was, and how missing numbers ended.
    pending: dict[MessageId, deque[MessageArrival]] = field(default_factory=dict)
    delivered: set[tuple[NaiveImage, int]] = field(default_factory=set)
    fates: dict[tuple[NaiveImage, int], Fate] = field(default_factory=dict)
    stream_states: dict[NaiveImage, StreamState] = field(default_factory=dict)

    @classmethod
    def create(
        cls, subscription_id: int, predicate: Predicate, ordering: OrderingSettings
    ) -> SubscriptionHistory:
        """A new one."""
        return cls(subscription_id, predicate, ordering, ordering.held_max, ordering.missing_max)

    @property
    def is_ordered(self) -> bool:
        """Whether anything waits for anything."""
        return self.ordering.latch is not None

    def reconfigure(self, ordering: OrderingSettings, local_ns: Instant) -> None:
        """It orders in another way from now on."""
        self.ordering, self.reconfigured_ns = ordering, local_ns
        self.held_max = max(self.held_max, ordering.held_max)
        self.missing_max = max(self.missing_max, ordering.missing_max)

    def waiting_since(self, image: NaiveImage, now: Instant) -> Instant:
        """When the first of those came that a message which comes now may have to wait with."""
        return min(
            (c.since for row in self.pending.values() for c in row if c.image is image),
            default=now,
        )

    def expect(self, arrival: MessageArrival) -> None:
        """There will be a receipt."""
        self.pending.setdefault(arrival.frame.id, deque()).append(arrival)

    def pop(self, message_id: MessageId) -> MessageArrival | None:
        """The first of that name of which there was no receipt."""
        row = self.pending.get(message_id)
        if row is None:
            return None
        arrival = row.popleft()
        if not row:
            del self.pending[message_id]
        return arrival

    def undelivered(self, image: NaiveImage | None = None) -> list[str]:
        """What came and should have been handed over by now: of one publisher, or at all."""
        return [
            f"no receipt for {message_id}, which came at {arrival.at} ns"
            for message_id, row in self.pending.items()
            for arrival in row
            if image in {None, arrival.image}
        ]

    def unresolved(self, image: NaiveImage | None = None) -> list[str]:
        """That, and what is missing and should have ended."""
        return self.undelivered(image) + [
            f"no end of {extended_seq} of {each.pub}, which was missing"
            for each, stream_state in self.stream_states.items()
            for extended_seq in sorted(stream_state.missing)
            if image in {None, each}
        ]


@dataclass(slots=True, eq=False)
class Reported:
    """A number that a record told of: it must be missed, unless there was no room."""

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
        # What is kept for others only.
        self.cached_predicates: list[Predicate] = []
        # What it should have counted.
        self.expected_counters: Counter[str] = Counter()
        # Since the last look: what was put an end to, who was heard, what records told of; and
        # of publishers of whom a repair came, what was known of their delays.
        self.closed_images: dict[tuple[int, int], NaiveImage] = {}
        self.touched_publishers: dict[int, None] = {}
        self.reported: list[Reported] = []
        self.delays_before: dict[int, dict[Any, tuple[Any, ...]]] = {}
        # With congestion control in the run: the messages that wait to be sent, the publishers
        # that messages came from, and the receivers that sent a frame of congestion control.
        self.send_queue: NaiveSendQueue | None = None
        self.received_publishers: set[int] = set()
        self.reporting_receivers: set[int] = set()

    def has_interest(self, message: Message) -> bool:
        """Whether anybody here has asked for it, or offered to keep it."""
        predicates = [
            *self.cached_predicates,
            *[subscription.predicate for subscription in self.subscriptions.values()],
        ]
        return any(predicate.matches(message) for predicate in predicates)

    def missing_of(self, publisher: int) -> set[tuple[NaiveImage, int]]:
        """All numbers of a publisher that a subscription misses."""
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
        """Who is meant, among those that were just ended and those that are known."""
        closed = self.closed_images.get((message_id.pub, message_id.epoch))
        if closed is not None:
            return closed
        known = self.receiver.images.get(message_id.pub)
        return known if known is not None and known.epoch == message_id.epoch else None
