"""ADVERTISE, SUBSCRIBE and UNSUBSCRIBE: who has an item, and who wants it."""

from __future__ import annotations

from enum import IntEnum

from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import (
    NAME_BYTES_MAX,
    OBJECT_ID_BYTES,
    TEXT_BYTES_MAX,
    CastBody,
    check_length,
)
from penstock.wire.frames.texts import check_text


class ObjectKind(IntEnum):
    """What an item is."""

    FILE = 0
    STREAM = 1


class Advertise(CastBody, frozen=True, kw_only=True, gc=False):
    """A node has the item of the header, and waits for subscribers."""

    publisher: int
    # Drawn at each start of the transfer.
    epoch: int
    object_id: bytes
    kind: ObjectKind
    length_bytes: int
    # It starts when so many are there, or `wait_ms` after the first; 0: unknown.
    receivers: int = 0
    wait_ms: int = 0

    def __post_init__(self) -> None:
        check_unsigned(
            32,
            publisher=self.publisher,
            epoch=self.epoch,
            receivers=self.receivers,
            wait_ms=self.wait_ms,
        )
        check_length("an object id", self.object_id, OBJECT_ID_BYTES)
        check_unsigned(64, length_bytes=self.length_bytes)


class Subscribe(CastBody, frozen=True, kw_only=True, gc=False):
    """A node wants the item of the header; an object id names one version of it."""

    subscriber: int
    name: str
    object_id: bytes = b""

    def __post_init__(self) -> None:
        check_unsigned(32, subscriber=self.subscriber)
        check_text("the name of a node", self.name, NAME_BYTES_MAX)
        check_length("an object id", self.object_id, 0, OBJECT_ID_BYTES)


class Unsubscribe(CastBody, frozen=True, kw_only=True, gc=False):
    """A node leaves before the end."""

    subscriber: int
    reason: str = ""

    def __post_init__(self) -> None:
        check_unsigned(32, subscriber=self.subscriber)
        check_text("a reason", self.reason, TEXT_BYTES_MAX)
