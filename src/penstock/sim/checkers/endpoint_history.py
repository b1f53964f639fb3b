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
from penstock.sim.checkers.naive_receiver import Heard, Publishers
from penstock.trace.fates import Life as Fate
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.serial import SEQ_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Came:
    """A frame that an endpoint must take, and that a subscription is to have."""

    frame: Data
    heard: Heard
    number: int
    # Global, and by the host's own clock.
    at: Instant
    local_ns: Instant
    # When the first of those came that still wait with it, or with one of these.
    since: Instant
    # Whether others had kept it.
    is_repair: bool = False


@dataclass(slots=True, eq=False)
class Track:
    """One publisher's messages for one subscription, while they are ordered."""

    # The highest that came, and the highest that was handed over.
    top: int
    handed: int | None = None
    missing: set[int] = field(default_factory=set)
    # The last that were given up, and the limit below which this is no longer known one by one.
    given_up: deque[int] = field(default_factory=deque)
    given_up_below: int = -1 << SEQ_BITS

    def give_up(self, number: int, most: int) -> None:
        """Nothing is hoped for it any more; `most` are remembered."""
        self.given_up.append(number)
        if len(self.given_up) > most:
            self.given_up_below = max(self.given_up_below, self.given_up.popleft() + 1)

    def is_over(self, number: int) -> bool:
        """Whether nothing is to come of it any more."""
        if number in self.given_up:
            return True
        return number < self.given_up_below and number not in self.missing


@dataclass(slots=True, eq=False)
class Asked:
    """One subscription."""

    number: int
    predicate: Predicate
    ordering: OrderingSettings
    # The largest bounds that it ever had: when they are lowered, what is there may stay.
    held_max: int
    missing_max: int
    # When, by the host's own clock, the ordering was changed last.
    adjusted_ns: Instant | None = None
    # What came and was not told of yet, what was, and how missing numbers ended.
    waiting: dict[MessageId, deque[Came]] = field(default_factory=dict)
    receipts: set[tuple[Heard, int]] = field(default_factory=set)
    ends: dict[tuple[Heard, int], Fate] = field(default_factory=dict)
    tracks: dict[Heard, Track] = field(default_factory=dict)

    @classmethod
    def begin(cls, number: int, predicate: Predicate, ordering: OrderingSettings) -> Asked:
        """A new one."""
        return cls(number, predicate, ordering, ordering.held_max, ordering.missing_max)

    @property
    def is_ordered(self) -> bool:
        """Whether anything waits for anything."""
        return self.ordering.latch is not None

    def adjust(self, ordering: OrderingSettings, local_ns: Instant) -> None:
        """It orders in another way from now on."""
        self.ordering, self.adjusted_ns = ordering, local_ns
        self.held_max = max(self.held_max, ordering.held_max)
        self.missing_max = max(self.missing_max, ordering.missing_max)

    def waiting_since(self, heard: Heard, now: Instant) -> Instant:
        """When the first of those came that a message which comes now may have to wait with."""
        return min(
            (c.since for row in self.waiting.values() for c in row if c.heard is heard),
            default=now,
        )

    def expect(self, came: Came) -> None:
        """There will be a receipt."""
        self.waiting.setdefault(came.frame.id, deque()).append(came)

    def take(self, name: MessageId) -> Came | None:
        """The first of that name of which there was no receipt."""
        row = self.waiting.get(name)
        if row is None:
            return None
        came = row.popleft()
        if not row:
            del self.waiting[name]
        return came

    def unheard(self, heard: Heard | None = None) -> list[str]:
        """What came and should have been handed over by now: of one publisher, or at all."""
        return [
            f"no receipt for {name}, which came at {came.at} ns"
            for name, row in self.waiting.items()
            for came in row
            if heard in {None, came.heard}
        ]

    def unfinished(self, heard: Heard | None = None) -> list[str]:
        """That, and what is missing and should have ended."""
        return self.unheard(heard) + [
            f"no end of {number} of {of.pub}, which was missing"
            for of, track in self.tracks.items()
            for number in sorted(track.missing)
            if heard in {None, of}
        ]


@dataclass(slots=True, eq=False)
class Told:
    """A number that a record told of: it must be missed, unless there was no room."""

    asked: Asked
    heard: Heard
    number: int
    overflows: int


class Life:
    """One endpoint, until it crashes."""

    def __init__(self, name: str, machine: Endpoint[Any], publishers_max: int) -> None:
        self.name = name
        self.machine = machine
        self.publishers = Publishers(publishers_max)
        self.asked: dict[int, Asked] = {}
        # What is kept for others only.
        self.offers: list[Predicate] = []
        # What it should have counted.
        self.counted: Counter[str] = Counter()
        # Since the last look: what was put an end to, who was heard, what records told of; and
        # of publishers of whom a repair came, what was known of their delays.
        self.ended: dict[tuple[int, int], Heard] = {}
        self.touched: dict[int, None] = {}
        self.told: list[Told] = []
        self.delays: dict[int, dict[Any, tuple[Any, ...]]] = {}

    def is_wanted(self, message: Message) -> bool:
        """Whether anybody here has asked for it, or offered to keep it."""
        predicates = [*self.offers, *[asked.predicate for asked in self.asked.values()]]
        return any(predicate.matches(message) for predicate in predicates)

    def missed(self, pub: int) -> set[tuple[Heard, int]]:
        """All numbers of a publisher that a subscription misses."""
        heard = self.publishers.all.get(pub)
        if heard is None:
            return set()
        tracks = [asked.tracks.get(heard) for asked in self.asked.values()]
        return {(heard, number) for track in tracks if track for number in track.missing}

    def heard(self, name: MessageId) -> Heard | None:
        """Who is meant, among those that were just ended and those that are known."""
        ended = self.ended.get((name.pub, name.epoch))
        if ended is not None:
            return ended
        known = self.publishers.all.get(name.pub)
        return known if known is not None and known.epoch == name.epoch else None
