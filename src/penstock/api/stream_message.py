"""A message of a guaranteed stream: with its place there, and to be acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from penstock.api.checkpoint import Checkpoint
from penstock.api.message import Message
from penstock.api.position import Position
from penstock.kernel.errors import UsageError


# Unlike a plain message it knows its subscription, which knows it: only the collector ends that.
class StreamMessage(Message, frozen=True, kw_only=True, gc=True):
    """A message that a stream handed over; `id` is that of its position.

    `attempt` is 1, and higher when the message was handed out before without an acknowledgement.
    """

    stream: str
    position: Position
    attempt: int = 1
    # Everything up to this message; the text is made when somebody asks for it.
    _read_upto: Checkpoint
    _ack: Callable[[Position], Awaitable[None]] | None = None
    _fail: Callable[[Position, str], Awaitable[None]] | None = None

    @property
    def checkpoint(self) -> str:
        """A text to store with one's own result, and to pass to `subscribe` to go on from here."""
        return str(self._read_upto)

    async def ack(self) -> None:
        """Acknowledges this message and all before it; returns when the host has stored it."""
        if self._ack is None:
            raise _is_copy("acknowledged")
        await self._ack(self.position)

    async def fail(self, reason: str = "") -> None:
        """Gives the message back: it comes again after a back-off, with a higher `attempt`."""
        if self._fail is None:
            raise _is_copy("given back")
        await self._fail(self.position, reason)

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamMessage):
            return NotImplemented
        return _content(self) == _content(other)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        rebuild, (kind, fields) = super().__reduce__()
        return rebuild, (kind, {**fields, "_ack": None, "_fail": None})


def _content(message: StreamMessage) -> dict[str, object]:
    """All fields but those that lead to the subscription."""
    fields = msgspec.structs.asdict(message)
    return {name: value for name, value in fields.items() if name not in ("_ack", "_fail")}


def _is_copy(what: str) -> UsageError:
    return UsageError(f"a copy of a message cannot be {what}: keep the message itself for that")
