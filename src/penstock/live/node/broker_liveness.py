"""Whether a node's broker is alive, and how many messages were published while it was silent.

Publications are not acknowledged, but the broker sends HELLO every second. Once it has been silent
for too long, the messages published since its last HELLO must be assumed lost.
"""

from __future__ import annotations

import asyncio
from typing import Final

from penstock.overlay.client import OverlayClient


class BrokerLiveness:
    """Call `update` after every client step; `connected` and `disconnected` can be awaited."""

    def __init__(self, client: OverlayClient) -> None:
        self.published = 0
        self.connected: Final = asyncio.Event()
        self.disconnected: Final = asyncio.Event()
        self._is_silent = True
        self._client: Final = client
        # The last HELLO, the messages published until then, and the losses of earlier silences.
        self._hellos_received = 0
        self._published_at_last_hello = 0
        self._published_while_silent = 0

    @property
    def published_while_silent(self) -> int:
        """Messages published between the last HELLO before a silence and the first one after it."""
        return self._published_while_silent + (
            self.published - self._published_at_last_hello if self._is_silent else 0
        )

    def update(self) -> None:
        """Updates the events from the state of the client."""
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
        """Sets both events, so that no task waits any longer."""
        self.connected.set()
        self.disconnected.set()
