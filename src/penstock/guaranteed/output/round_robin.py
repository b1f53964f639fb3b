"""Deficit round robin: each lane that waits gets the same share of the bytes that leave.

A lane may send up to what it has saved; every time it is its turn it saves a quantum. A lane that
has nothing to send saves nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

Frame = TypeVar("Frame")


class _Lane(Generic[Frame]):
    __slots__ = ("frames", "saved_bytes")

    def __init__(self) -> None:
        self.frames: Final[deque[tuple[Frame, int]]] = deque()
        self.saved_bytes = 0


class RoundRobin(Generic[Frame]):
    """Queues of frames by lane."""

    __slots__ = ("_count", "_lanes", "_quantum_bytes", "_turns")

    def __init__(self, quantum_bytes: int) -> None:
        self._quantum_bytes: Final = quantum_bytes
        self._lanes: Final[dict[int, _Lane[Frame]]] = {}
        # Lanes with frames; the first one sends.
        self._turns: Final[deque[int]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def lanes(self) -> int:
        """How many lanes have something to send."""
        return len(self._turns)

    def put(self, lane: int, frame: Frame, size_bytes: int) -> None:
        """Adds a frame behind those of its lane."""
        queue = self._lanes.get(lane)
        if queue is None:
            queue = self._lanes[lane] = _Lane()
            if not self._turns:
                # Its turn has come at once.
                queue.saved_bytes = self._quantum_bytes
            self._turns.append(lane)
        queue.frames.append((frame, size_bytes))
        self._count += 1

    def clear(self) -> None:
        """Forgets all frames."""
        self._lanes.clear()
        self._turns.clear()
        self._count = 0

    def take(self) -> tuple[Frame, int] | None:
        """The next frame, with its size."""
        turns, lanes = self._turns, self._lanes
        if not turns:
            return None
        lane = lanes[turns[0]]
        if len(turns) > 1:
            lane = self._next_turn(lane)
        elif lane.saved_bytes < lane.frames[0][1]:
            # Alone it has every turn: it owes nothing to those that come later.
            lane.saved_bytes = lane.frames[0][1]
        frame, size_bytes = lane.frames.popleft()
        lane.saved_bytes -= size_bytes
        self._count -= 1
        if not lane.frames:
            # What it has saved is gone with it, and what it owes.
            del lanes[turns.popleft()]
        return frame, size_bytes

    def _next_turn(self, lane: _Lane[Frame]) -> _Lane[Frame]:
        """Passes the turn on until a lane has saved enough for its first frame."""
        turns, lanes, quantum_bytes = self._turns, self._lanes, self._quantum_bytes
        while True:
            for _ in range(len(turns)):
                if lane.saved_bytes >= lane.frames[0][1]:
                    return lane
                turns.rotate(-1)
                lane = lanes[turns[0]]
                lane.saved_bytes += quantum_bytes
            # All frames are large: many rounds at once, up to the one before somebody may send.
            lacking_bytes = min(each.frames[0][1] - each.saved_bytes for each in lanes.values())
            rounds = -(-lacking_bytes // quantum_bytes) - 1
            if rounds > 0:
                for each in lanes.values():
                    each.saved_bytes += rounds * quantum_bytes
