"""What a client tells its application."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.wire.frames.guaranteed.base import GapReason
from penstock.wire.frames.guaranteed.client import Answer, Refused
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import StoredRun
from penstock.wire.frames.guaranteed.subscription import Position


class Welcomed(msgspec.Struct, frozen=True):
    """A broker has answered."""

    broker: str


class Receipted(msgspec.Struct, frozen=True):
    """The broker has taken publications that asked for a receipt; they are not on disk yet."""

    runs: tuple[StoredRun, ...]


class Confirmed(msgspec.Struct, frozen=True):
    """Publications are on disk."""

    runs: tuple[StoredRun, ...]


class NotTaken(msgspec.Struct, frozen=True):
    """The broker has refused a publication; it may be repeated later."""

    publication: int
    refused: Refused


class Received(msgspec.Struct, gc=False):
    """One message of a subscription."""

    subscription: int
    pubend: int
    tick: int
    published_ns: int
    # 1 unless it has been handed out before.
    attempt: int
    body: bytes


class ReceivedMany(msgspec.Struct):
    """The next messages of a subscription, in order."""

    subscription: int
    messages: list[Received]


class Missed(msgspec.Struct, frozen=True):
    """Messages that a subscription wanted are gone, at most so many."""

    subscription: int
    pubend: int
    start: int
    stop: int
    reason: GapReason
    messages: int


class Opened(msgspec.Struct, frozen=True):
    """A subscription is open: what is published from now on will come."""

    subscription: int
    resumed: bool
    positions: tuple[Position, ...]


class Moved(msgspec.Struct, frozen=True):
    """Somebody has moved the cursor: the subscription begins anew from there.

    What the application has of it counts no more; it forgets what it has not taken.
    """

    subscription: int


class Poisonous(msgspec.Struct, frozen=True):
    """A message was handed out too often; `Ended` follows."""

    subscription: int
    poison: Poison


class Ended(msgspec.Struct, frozen=True):
    """A subscription was refused or taken over."""

    subscription: int
    refused: Refused


class AckStored(msgspec.Struct, frozen=True):
    """The host has stored these positions."""

    subscription: int
    positions: tuple[Position, ...]


class Answered(msgspec.Struct, frozen=True):
    """The answer to a request: JSON, or why not."""

    request: int
    answer: Answer | Refused


class Fenced(msgspec.Struct, frozen=True):
    """The broker has refused this connection."""

    refused: Refused


ClientFact: TypeAlias = (
    Welcomed
    | Receipted
    | Confirmed
    | NotTaken
    | ReceivedMany
    | Missed
    | Opened
    | Moved
    | Poisonous
    | Ended
    | AckStored
    | Answered
    | Fenced
)
