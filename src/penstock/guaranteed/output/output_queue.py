"""Frames that wait for a link, within a bound in bytes.

The queue belongs to the machine, so that it is the same in the simulator and on sockets: the
driver says how many bytes a link takes now, and gets no more. When it is full, the newest DATA and
SILENCE is dropped and counted, nothing else: the chain of the link shows the gap to the child.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

Frame = TypeVar("Frame")


class OutputQueue(Generic[Frame]):
    """First in, first out."""

    __slots__ = ("_frames", "dropped", "queue_bytes", "queue_bytes_max", "room_bytes")

    def __init__(self, queue_bytes_max: int, *, room_bytes: int = 0) -> None:
        self.queue_bytes_max: Final = queue_bytes_max
        self.queue_bytes = 0
        # How much more the link takes.
        self.room_bytes = room_bytes
        self.dropped = 0
        self._frames: Final[deque[tuple[Frame, int]]] = deque()

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_below_half(self) -> bool:
        """Whether repairs may be added."""
        return 2 * self.queue_bytes < self.queue_bytes_max

    def put(self, frame: Frame, size_bytes: int, *, may_drop: bool) -> bool:
        """Adds a frame; returns False if it was dropped."""
        if may_drop and self.queue_bytes + size_bytes > self.queue_bytes_max:
            self.dropped += 1
            return False
        self._frames.append((frame, size_bytes))
        self.queue_bytes += size_bytes
        return True

    def clear(self) -> None:
        """Forgets what waits: nobody takes it."""
        self._frames.clear()
        self.queue_bytes = 0

    def take(self) -> Frame | None:
        """The next frame, if the link has room for it; a link with any room takes a whole one."""
        if not self._frames or self.room_bytes <= 0:
            return None
        frame, size_bytes = self._frames.popleft()
        self.queue_bytes -= size_bytes
        self.room_bytes -= size_bytes
        return frame
