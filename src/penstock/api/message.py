"""A message as an application gets it, its id, and its fate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from penstock.api.units import quoted
from penstock.content.value import Value
from penstock.kernel.errors import UsageError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ID: Final = re.compile(r"([0-9a-f]{16}):([0-9]{1,20}):([0-9]{1,20})")


class Fate(StrEnum):
    """What became of a message that was wanted; every one ends in one of these seven."""

    # Handed over: in order, after later ones, or from a cache.
    DELIVERED = "delivered"
    DELIVERED_LATE = "delivered_late"
    REPAIRED = "repaired"
    # Never handed over.
    LOST = "lost"
    RATE_LIMITED = "rate_limited"
    DROPPED_LATE = "dropped_late"
    DROPPED_OVERFLOW = "dropped_overflow"


HANDED_OVER: Final = frozenset({Fate.DELIVERED, Fate.DELIVERED_LATE, Fate.REPAIRED})


class MessageId(NamedTuple):
    """Names one message; its text, as `penstock why` takes it, is `publisher:epoch:seq`."""

    # 16 hexadecimal digits.
    publisher: str
    epoch: int
    seq: int

    def __str__(self) -> str:
        return f"{self.publisher}:{self.epoch}:{self.seq}"

    @classmethod
    def parse(cls, text: str) -> MessageId:
        """The id whose text this is."""
        found = _ID.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{quoted(text)} names no message: write PUBLISHER:EPOCH:NUMBER,"
                " as in a3f1c0de00112233:62237:17"
            )
        publisher, epoch, seq = found.groups()
        return cls(publisher, int(epoch), int(seq))


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that was handed over.

    `message["price"]` and `message.get("price")` read its attributes. Times are Unix nanoseconds:
    `published_ns` by the publisher's clock, `received_ns` by that of this host.
    """

    # Read-only, whatever mapping it is built from.
    attributes: Mapping[str, Value]
    payload: bytes
    id: MessageId
    fate: Fate
    published_ns: int
    received_ns: int
    # How long it waited here for earlier messages.
    held_ns: int = 0

    def __post_init__(self) -> None:
        if type(self.attributes) is not MappingProxyType:
            read_only = MappingProxyType(self.attributes)
            msgspec.structs.force_setattr(self, "attributes", read_only)

    @property
    def publisher(self) -> str:
        """Who published it: 16 hexadecimal digits."""
        return self.id.publisher

    @property
    def published_at(self) -> datetime:
        """When it was published, in UTC, to the microsecond."""
        return utc_of(self.published_ns)

    @property
    def received_at(self) -> datetime:
        """When it came here, in UTC, to the microsecond."""
        return utc_of(self.received_ns)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or `default` where the message has none of that name."""
        return self.attributes.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self.attributes

    # Else Python would try to iterate by `message[0]`, `message[1]` and so on.
    __iter__ = None

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.fate}: {dict(self.attributes)!r}>"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # A read-only view cannot be copied or sent to another process; what it shows can.
        fields = msgspec.structs.asdict(self)
        return _rebuilt, (type(self), {**fields, "attributes": dict(self.attributes)})


def utc_of(unix_ns: int) -> datetime:
    """A Unix time as a date, to the microsecond below."""
    return _EPOCH + timedelta(microseconds=unix_ns // 1_000)


def _rebuilt(kind: type[Message], fields: dict[str, Any]) -> Message:
    return kind(**fields)
