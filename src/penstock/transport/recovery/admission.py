"""The interface by which recovery asks congestion control whether it may send.

Does not know how that is decided.
"""

from __future__ import annotations

from typing import Protocol

from penstock.kernel.instant import Instant
from penstock.wire.frames.data import Data


class Admission(Protocol):
    """Congestion control, as seen by the sender of requests and repairs."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may be sent now."""

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message may be sent again now; `original` is as first sent or received."""


class Unlimited:
    """Admits everything, for endpoints without congestion control."""

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Admit every request."""
        del publisher, size_bytes, now
        return True

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Admit every repair."""
        del original, now
        return True
