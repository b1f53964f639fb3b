"""Lets an application wait for the send queue of congestion control."""

from __future__ import annotations

import asyncio
from time import monotonic_ns
from typing import Final

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Sent
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.data import Data, MessageId


class SendBackpressure:
    """The send queue of one node, as events."""

    def __init__(self, endpoint: Endpoint[OverlayFrame]) -> None:
        self._endpoint: Final = endpoint
        # Set while the queue is empty, or has room for more.
        self._has_room: Final = asyncio.Event()
        self._is_empty: Final = asyncio.Event()
        self._has_room.set()
        self._is_empty.set()
        self._is_closed = False
        self._last_sent: Data | None = None

    @property
    def is_used(self) -> bool:
        """Whether congestion control is enabled."""
        return self._endpoint.congestion is not None

    async def wait_for_room(self, message: Message) -> None:
        """Waits until the queue has room for a message, unless the settings drop instead."""
        congestion = self._endpoint.congestion
        if congestion is None or congestion.drops_when_full:
            return
        while not self._is_closed and not self._endpoint.has_room_for(message, now=monotonic_ns()):
            self._has_room.clear()
            await self._has_room.wait()
        if self._is_closed:
            raise UsageError("this node is closed: open another")

    async def wait_empty(self) -> None:
        """Waits until the queue is empty or the node is closed."""
        while not self._is_closed and self._endpoint.queued_messages:
            self._is_empty.clear()
            await self._is_empty.wait()

    def id_of(self, message: Message) -> MessageId | None:
        """The id of the message submitted last; None if it is still queued."""
        last_sent, self._last_sent = self._last_sent, None
        return last_sent.id if last_sent is not None and last_sent.message is message else None

    def on_record(self, row: object) -> None:
        """Notes the latest message that the endpoint has sent."""
        if type(row) is Sent:
            self._last_sent = row.frame

    def update(self) -> None:
        """Resumes waiting tasks if there is room."""
        if not self._has_room.is_set() and not self._endpoint.send_queue_is_full:
            self._has_room.set()
        if not self._is_empty.is_set() and not self._endpoint.queued_messages:
            self._is_empty.set()

    def close(self) -> None:
        """Resumes all waiting tasks and counts the queued messages as dropped."""
        if not self._is_closed:
            self._endpoint.counters["dropped_at_source"] += self._endpoint.queued_messages
        self._is_closed = True
        self._has_room.set()
        self._is_empty.set()
