"""Frames that wait for a link, within a bound in bytes.

The queue belongs to the machine, so that it is the same in the simulator and on sockets: the
driver says how many bytes a link takes now, and gets no more. Urgent frames go past all others,
and wait for no room. When the queue is full, the newest DATA and SILENCE is dropped and counted,
nothing else: the chain of the link shows the gap to the child.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from penstock.guaranteed.output.lanes import URGENT, lane_of
from penstock.guaranteed.output.round_robin import RoundRobin

Frame = TypeVar("Frame")

QUANTUM_BYTES: Final = 1_500


class OutputQueue(Generic[Frame]):
    """First in, first out for what is urgent and within a pubend; fair between pubends."""

    __slots__ = (
        "_lane_of",
        "_lanes",
        "_urgent",
        "dropped",
        "peak_bytes",
        "queue_bytes",
        "queue_bytes_max",
        "room_bytes",
    )

    def __init__(
        self,
        queue_bytes_max: int,
        *,
        room_bytes: int = 0,
        lane_of: Callable[[Frame], int] = lane_of,
    ) -> None:
        self.queue_bytes_max: Final = queue_bytes_max
        self.queue_bytes = 0
        # The most that waited since somebody last looked, who then sets it back.
        self.peak_bytes = 0
        # How much more the link takes.
        self.room_bytes = room_bytes
        self.dropped = 0
        self._lane_of: Final = lane_of
        self._urgent: Final[deque[tuple[Frame, int]]] = deque()
        self._lanes: Final[RoundRobin[Frame]] = RoundRobin(QUANTUM_BYTES)

    def __len__(self) -> int:
        return len(self._urgent) + len(self._lanes)

    @property
    def is_below_half(self) -> bool:
        """Whether repairs may be added."""
        return 2 * self.queue_bytes < self.queue_bytes_max

    def put(self, frame: Frame, size_bytes: int, *, may_drop: bool) -> bool:
        """Adds a frame; returns False if it was dropped."""
        if may_drop and self.queue_bytes + size_bytes > self.queue_bytes_max:
            self.dropped += 1
            return False
        lane = self._lane_of(frame)
        if lane == URGENT:
            self._urgent.append((frame, size_bytes))
        else:
            self._lanes.put(lane, frame, size_bytes)
        self.queue_bytes += size_bytes
        self.peak_bytes = max(self.peak_bytes, self.queue_bytes)
        return True

    def clear(self) -> None:
        """Forgets what waits: nobody takes it."""
        self._frames.clear()
        self.queue_bytes = 0

    def take(self) -> Frame | None:
        """The next frame, if the link has room for it; a link with any room takes a whole one."""
        if self._urgent:
            frame, size_bytes = self._urgent.popleft()
        elif self.room_bytes <= 0:
            return None
        else:
            found = self._lanes.take()
            if found is None:
                return None
            frame, size_bytes = found
        self.queue_bytes -= size_bytes
        self.room_bytes -= size_bytes
        return frame
