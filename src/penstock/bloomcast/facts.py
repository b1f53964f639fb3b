"""What a node tells its driver."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from penstock.wire.frames.cast.base import CastBody, Item
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.transfer import First


@dataclass(frozen=True, kw_only=True)
class Offer:
    """An object that a publisher sends."""

    item: Item
    epoch: int
    object_id: bytes
    # Of a stream neither this nor blocks are known: 0, and none.
    length_bytes: int
    symbol_bytes: int
    # Source symbols of each block; the manifest comes in front of them, if there is one.
    block_symbols: tuple[int, ...]
    manifest_bytes: int = 0
    manifest_symbols: int = 0
    kind: ObjectKind = ObjectKind.FILE
    # Symbols are not encrypted.
    is_plain: bool = True
    # It starts when so many have joined (0: unknown), or so long after the first.
    receivers: int = 0
    wait_ms: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Blocks of an object that a receiver has from an earlier attempt, and has verified."""

    object_id: bytes
    blocks: frozenset[int]


class Verdict(Enum):
    """What came of decoding a block."""

    COMPLETE = auto()
    # More symbols are needed.
    UNDECODED = auto()
    # The result is not what the publisher hashed: a repair symbol was false.
    POISONED = auto()


@dataclass(frozen=True, slots=True)
class TransferOpened:
    """A subscriber knows what it is about to receive."""

    item: Item
    first: First


@dataclass(frozen=True, slots=True)
class SymbolsArrived:
    """Symbols that a subscriber did not have: the driver stores their bytes."""

    item: Item
    block: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BlockDecodable:
    """Enough symbols of a block are there: the driver answers with a `Verdict`."""

    item: Item
    block: int


@dataclass(frozen=True, slots=True)
class ObjectComplete:
    """A subscriber has every block."""

    item: Item


@dataclass(frozen=True, slots=True)
class TransferStopped:
    """The transfer is over; without a reason, because this receiver has all of it."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class TransferBegan:
    """At the publisher: there is somebody to send to."""

    item: Item


@dataclass(frozen=True, slots=True)
class EpochBegan:
    """The publisher resumes, or has started again: symbols are sealed under another key now."""

    item: Item
    epoch: int


@dataclass(frozen=True, slots=True)
class TransferFinished:
    """At the publisher: so many have it, and these have not."""

    item: Item
    done: int
    failed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OfferRefused:
    """At a publisher: the rendezvous point does not take its object, and says why."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class BlockFilled:
    """At a stream's publisher: a block takes no more; the driver answers with its hash."""

    item: Item
    block: int
    symbols: int


@dataclass(frozen=True, slots=True)
class BlockRepaired:
    """At a stream's publisher: nobody lacks anything of a block any more."""

    item: Item
    block: int


@dataclass(frozen=True, slots=True)
class WriterHeld:
    """At a stream's publisher: too many blocks are open for what is written now to be taken."""

    item: Item


@dataclass(frozen=True, slots=True)
class WriterReleased:
    """At a stream's publisher: there is room again."""

    item: Item


@dataclass(frozen=True, slots=True)
class BlockEnded:
    """A subscriber knows how many symbols a block of a stream has, and the hash of it."""

    item: Item
    block: int
    symbols: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class BlockReady:
    """A block of a stream is complete, and so are all before it but those that are gone."""

    item: Item
    block: int


@dataclass(frozen=True, slots=True)
class BlocksGone:
    """Blocks of a stream are given up; at a subscriber, in their place among those that are ready.

    `stop` is exclusive.
    """

    item: Item
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class StreamInterrupted:
    """The publisher has begun again: what was not ready is lost, and blocks count from 0."""

    item: Item


@dataclass(frozen=True, slots=True)
class SteppedDown:
    """A controller leaves what it was responsible for to another one, with a lower id."""

    to: int


@dataclass(frozen=True, slots=True)
class ControlUnanswered:
    """A control frame was repeated in vain."""

    to: int
    body: CastBody


@dataclass(frozen=True, slots=True)
class Overflow:
    """A table is full: what would not fit was refused."""

    table: str


CastFact: TypeAlias = (
    TransferOpened
    | SymbolsArrived
    | BlockDecodable
    | ObjectComplete
    | TransferStopped
    | TransferBegan
    | EpochBegan
    | TransferFinished
    | OfferRefused
    | BlockFilled
    | BlockRepaired
    | WriterHeld
    | WriterReleased
    | BlockEnded
    | BlockReady
    | BlocksGone
    | StreamInterrupted
    | SteppedDown
    | ControlUnanswered
    | Overflow
)
