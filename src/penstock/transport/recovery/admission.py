"""Who is asked whether a request or a repair may leave; knows nothing of how that is decided."""

from __future__ import annotations

from typing import Protocol

from penstock.kernel.instant import Instant
from penstock.wire.frames.data import Data


class Admission(Protocol):
    """Congestion control, asked before anything is sent that no application published."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may leave now."""

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message, as it was sent or came, may leave once more."""


class Unlimited:
    """Where there is no congestion control."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Always."""
        del publisher, size_bytes, now
        return True

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Always."""
        del original, now
        return True
