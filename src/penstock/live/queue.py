"""What waits at a publisher whom congestion control slows down, as its application sees it."""

from __future__ import annotations

import asyncio
from typing import Final

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Departed
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.data import Data, MessageId


class Queue:
    """Of one node."""

    def __init__(self, endpoint: Endpoint[OverlayFrame]) -> None:
        self._endpoint: Final = endpoint
        self._has_room: Final = asyncio.Event()
        self._has_room.set()
        self._is_closed = False
        self._last: Data | None = None

    @property
    def is_used(self) -> bool:
        """Whether there is congestion control."""
        return self._endpoint.congestion is not None

    async def room(self) -> None:
        """Until there is room for a message, if whoever publishes is to wait for it."""
        congestion = self._endpoint.congestion
        if congestion is None or congestion.drops:
            return
        while self._endpoint.is_full:
            self._has_room.clear()
            await self._has_room.wait()
            if self._is_closed:
                raise UsageError("this node is closed: open another")

    def name_of(self, message: Message) -> MessageId | None:
        """Of one that was offered last; None if it has not left."""
        last, self._last = self._last, None
        return last.id if last is not None and last.message is message else None

    def take(self, row: object) -> None:
        """What the endpoint records."""
        if type(row) is Departed:
            self._last = row.frame

    def look(self) -> None:
        """There may be room."""
        if not self._has_room.is_set() and not self._endpoint.is_full:
            self._has_room.set()

    def close(self) -> None:
        """Nobody waits any longer."""
        self._is_closed = True
        self._has_room.set()
