"""Whether a node's broker answers, and how much left while it did not.

Nobody confirms a publication, but the broker says HELLO every second. When it has
not for a while, all that left since it last did went to nobody, as far as we know.
"""

from __future__ import annotations

import asyncio
from typing import Final

from penstock.overlay.client import OverlayClient


class BrokerLiveness:
    """`look` after every turn of the client; `heard` and `silent` are for those who wait."""

    def __init__(self, client: OverlayClient) -> None:
        self.published = 0
        self.connected: Final = asyncio.Event()
        self.disconnected: Final = asyncio.Event()
        self._is_silent = True
        self._client: Final = client
        # The last answer, how much had left by then, and what earlier silences cost.
        self._hellos_received = 0
        self._published_at_last_hello = 0
        self._published_while_silent = 0

    @property
    def published_while_silent(self) -> int:
        """Messages that left between the last answer before a silence and the first after it."""
        return self._published_while_silent + (
            self.published - self._published_at_last_hello if self._is_silent else 0
        )

    def update(self) -> None:
        """What the client has heard, or not heard for too long."""
        if not self._client.is_connected:
            self._is_silent = True
            self.connected.clear()
            self.disconnected.set()
        elif self._client.hellos_received != self._hellos_received:
            self._published_while_silent = self.published_while_silent
            self._hellos_received = self._client.hellos_received
            self._published_at_last_hello = self.published
            self._is_silent = False
            self.connected.set()
            self.disconnected.clear()

    def close(self) -> None:
        """Nobody need wait any more."""
        self.connected.set()
        self.disconnected.set()
