"""A message of a guaranteed stream: with its place there, and to be acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from penstock.api.checkpoint import Checkpoint
from penstock.api.lazy_attributes import LazyAttributes
from penstock.api.message import Message
from penstock.api.position import Position
from penstock.kernel.errors import UsageError


class MessageReader(Protocol):
    """Who handed a message over, and is told what became of it."""

    async def acknowledge(self, position: Position) -> None:
        """This message and all before it have been dealt with."""

    async def fail(self, position: Position, reason: str) -> None:
        """This message could not be dealt with."""


# Unlike a plain message it knows its subscription, which may know it: only the collector ends that.
class StreamMessage(Message, frozen=True, kw_only=True, gc=True):
    """A message that a stream handed over; `id` is that of its position.

    `attempt` is 1, and higher when the message was handed out before without an acknowledgement.
    """

    stream: str
    position: Position
    attempt: int = 1
    # How far other pubends had been read when this was handed over: a map that is never changed, so
    # that messages share it. It has this pubend too where that had been read further.
    _read: Mapping[int, int]
    _reader: MessageReader | None = None

    def __post_init__(self) -> None:
        if type(self.attributes) is not LazyAttributes:
            Message.__post_init__(self)

    @property
    def checkpoint(self) -> str:
        """A text to store with one's own result, and to pass to `subscribe` to go on from here."""
        ticks = {self.position.pubend: self.position.tick, **self._read}
        return str(Checkpoint(Position(*each) for each in ticks.items()))

    async def ack(self) -> None:
        """Acknowledges this message and all before it; returns when the host has stored it."""
        if self._reader is None:
            raise _is_copy("acknowledged")
        await self._reader.acknowledge(self.position)

    async def fail(self, reason: str = "") -> None:
        """Gives the message back: it comes again after a back-off, with a higher `attempt`."""
        if self._reader is None:
            raise _is_copy("given back")
        await self._reader.fail(self.position, reason)

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamMessage):
            return NotImplemented
        return _content(self) == _content(other)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        rebuild, (kind, fields) = super().__reduce__()
        return rebuild, (kind, {**fields, "_read": dict(self._read), "_reader": None})


def _content(message: StreamMessage) -> dict[str, object]:
    """All fields but the one that leads to the subscription."""
    fields = msgspec.structs.asdict(message)
    del fields["_reader"]
    return fields


def _is_copy(what: str) -> UsageError:
    return UsageError(f"a copy of a message cannot be {what}: keep the message itself for that")
