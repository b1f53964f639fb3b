"""Whether a node's broker answers, and how much left while it did not.

Nobody confirms a publication, but the broker says HELLO every second. When it has
not for a while, all that left since it last did went to nobody, as far as we know.
"""

from __future__ import annotations

import asyncio
from typing import Final

from penstock.overlay.client import Client


class Answers:
    """`look` after every turn of the client; `heard` and `silent` are for those who wait."""

    def __init__(self, client: Client) -> None:
        self.published = 0
        self.heard: Final = asyncio.Event()
        self.silent: Final = asyncio.Event()
        self._is_silent = True
        self._client: Final = client
        # The last answer, how much had left by then, and what earlier silences cost.
        self._answers = 0
        self._published_before = 0
        self._unanswered = 0

    @property
    def unanswered(self) -> int:
        """Messages that left between the last answer before a silence and the first after it."""
        return self._unanswered + (
            self.published - self._published_before if self._is_silent else 0
        )

    def look(self) -> None:
        """What the client has heard, or not heard for too long."""
        if not self._client.is_connected:
            self._is_silent = True
            self.heard.clear()
            self.silent.set()
        elif self._client.answers != self._answers:
            self._unanswered = self.unanswered
            self._answers = self._client.answers
            self._published_before = self.published
            self._is_silent = False
            self.heard.set()
            self.silent.clear()

    def close(self) -> None:
        """Nobody need wait any more."""
        self.heard.set()
        self.silent.set()
