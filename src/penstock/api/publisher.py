"""What can publish: code that is written against this works with every service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.content.value import Value


class Publisher(Protocol):
    """A node of best effort, or a stream."""

    async def publish(self, attributes: Mapping[str, Value], payload: bytes = b"") -> object:
        """Publishes one message."""
        ...
