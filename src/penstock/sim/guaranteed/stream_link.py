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


class _Batch:
    """Frames that leave at the same instant, and so arrive together."""

    __slots__ = ("frames", "left", "size_bytes")

    def __init__(self, left: Instant) -> None:
        self.left: Final = left
        self.frames: Final[list[Any]] = []
        self.size_bytes = 0


class LinkTraffic:
    """What one direction of a link has carried, over all its lives."""

    __slots__ = ("dropped_frames", "lost_frames", "sent_bytes", "sent_frames")

    def __init__(self) -> None:
        self.sent_bytes = 0
        self.sent_frames = 0
        # On their way when the link was cut.
        self.lost_frames = 0
        # By full queues of earlier lives; the present queue counts its own.
        self.dropped_frames = 0


class StreamLink:
    """From one machine to another."""

    def __init__(
        self,
        events: EventQueue,
        *,
        delay_ns: Duration,
        rate_bps: int | None,
        size_of: Callable[[Any], int],
        arrive: Callable[[list[Any]], None],
        # None: nobody waits for room.
        on_room: Callable[[int], None] | None,
        traffic: LinkTraffic | None = None,
    ) -> None:
        self._traffic: Final = traffic or LinkTraffic()
        self._events: Final = events
        self._delay_ns: Final = delay_ns
        # A new rate is that of frames sent from then on.
        self.rate_bps = rate_bps
        self._size_of: Final = size_of
        self._arrive: Final = arrive
        self._on_room: Final = on_room
        self._free_at: Instant = 0
        # Counts cuts: what is under way carries the number of its time.
        self._life = 0
        # The other end is gone, and nobody has noticed.
        self._is_mute = False
        # The last one, while it may still grow.
        self._batch: _Batch | None = None

    def send(self, frame: Any) -> None:
        """Puts a frame on its way; room for as much is there when it has left."""
        size_bytes = self._size_of(frame)
        self._traffic.sent_bytes += size_bytes
        self._traffic.sent_frames += 1
        left = max(self._events.now, self._free_at)
        if self.rate_bps is not None:
            left += size_bytes * 8 * SECOND // self.rate_bps
        self._free_at = left
        batch = self._batch
        if batch is None or batch.left != left:
            batch = self._batch = _Batch(left)
            self._events.schedule(left, self._leave, self._life, batch)
            self._events.schedule(left + self._delay_ns, self._land, self._life, batch)
        batch.frames.append(frame)
        batch.size_bytes += size_bytes

    def mute(self) -> None:
        """The other end takes nothing any more, and does not say so."""
        self.cut()
        self._is_mute = True

    def cut(self) -> None:
        """Everything under way is lost."""
        self._life += 1
        self._free_at = 0
        self._batch = None

    def _leave(self, life: int, batch: _Batch) -> None:
        if self._batch is batch:
            self._batch = None
        if life == self._life and not self._is_mute and self._on_room is not None:
            self._on_room(batch.size_bytes)

    def _land(self, life: int, batch: _Batch) -> None:
        if life == self._life and not self._is_mute:
            self._arrive(batch.frames)
        else:
            self._traffic.lost_frames += len(batch.frames)
