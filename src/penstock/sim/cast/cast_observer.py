"""What a measurement sees of a network of casts: each frame that a node sends, or receives."""

from __future__ import annotations

from typing import Protocol

from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.wire.frames.cast.base import CastFrame


class CastObserver(Protocol):
    """Called for every frame; keep it short."""

    def sent(
        self, node: str, port: Port, frame: CastFrame, size_bytes: int, *, now: Instant
    ) -> None:
        """A node has sent a frame, which may yet be lost."""

    def arrived(self, node: str, frame: CastFrame, *, now: Instant) -> None:
        """A frame has come to a node."""
