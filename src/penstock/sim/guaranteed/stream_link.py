"""A reliable, ordered link with a rate and a delay, which can be cut: one direction of it.

It takes so many bytes at a time, as a socket does, and says when there is room again. What is on
its way when it is cut is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.events import EventQueue

WINDOW_BYTES: Final = 64 * 1024


class StreamLink:
    """From one machine to another."""

    def __init__(
        self,
        events: EventQueue,
        *,
        delay_ns: Duration,
        rate_bps: int | None,
        size_of: Callable[[Any], int],
        arrive: Callable[[Any], None],
        on_room: Callable[[int], None],
    ) -> None:
        self.sent_bytes = 0
        self._events: Final = events
        self._delay_ns: Final = delay_ns
        self.rate_bps = rate_bps
        self._size_of: Final = size_of
        self._arrive: Final = arrive
        self._on_room: Final = on_room
        self._free_at: Instant = 0
        # Counts cuts: what is under way carries the number of its time.
        self._life = 0

    def send(self, frame: Any) -> None:
        """Puts a frame on its way; room for as much is there when it has left."""
        size_bytes = self._size_of(frame)
        self.sent_bytes += size_bytes
        left = max(self._events.now, self._free_at)
        if self.rate_bps is not None:
            left += size_bytes * 8 * SECOND // self.rate_bps
        self._free_at = left
        self._events.schedule(left, self._leave, self._life, size_bytes)
        self._events.schedule(left + self._delay_ns, self._land, self._life, frame)

    def cut(self) -> None:
        """Everything under way is lost."""
        self._life += 1
        self._free_at = 0

    def _leave(self, life: int, size_bytes: int) -> None:
        if life == self._life:
            self._on_room(size_bytes)

    def _land(self, life: int, frame: Any) -> None:
        if life == self._life:
            self._arrive(frame)
