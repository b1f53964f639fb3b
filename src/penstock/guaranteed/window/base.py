"""What every law of the NACK window does, and its bounds.

The window is stream time, in milliseconds of ticks. A law is told once per round trip how much was
recovered in it; nobody else changes the window.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.kernel.instant import Duration


class WindowSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Table 1 of the paper; stream time in milliseconds."""

    first_ms: int = 100
    # The receive window: what lies beyond it is not kept.
    max_ms: int = 10_000
    # By so much the window opens and closes.
    step_ms: int = 100


class NackWindow(Protocol):
    """One law."""

    @property
    def size_ms(self) -> int:
        """How far a reader may ask now."""

    def begin(self) -> None:
        """A recovery begins: what an earlier one has found no longer counts."""

    def on_round_trip(self, recovered_ms: float, rtt_ns: Duration) -> None:
        """A round trip is over, in which so much stream time was recovered."""
