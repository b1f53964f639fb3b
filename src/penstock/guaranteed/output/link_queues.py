"""What waits for each link and connection of a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from penstock.guaranteed.output.lanes import lane_of
from penstock.guaranteed.output.output_queue import OutputQueue
from penstock.kernel.machine import Port, Send

Frame = TypeVar("Frame")


class LinkQueues(Generic[Frame]):
    """A queue for each port; those that may have something to send are looked at alone."""

    def __init__(
        self,
        queue_bytes_max: int,
        *,
        size_of: Callable[[Frame], int],
        lane_of: Callable[[Frame], int] = lane_of,
    ) -> None:
        self._queue_bytes_max: Final = queue_bytes_max
        self._lane_of: Final = lane_of
        self._size_of: Final = size_of
        self._queues: Final[dict[Port, OutputQueue[Frame]]] = {}
        # Those that may have something to send.
        self._ready: Final[dict[Port, OutputQueue[Frame]]] = {}

    @property
    def by_port(self) -> Mapping[Port, OutputQueue[Frame]]:
        """All of them."""
        return self._queues

    def queued_bytes(self, port: Port) -> int:
        """How much waits for a link."""
        queue = self._queues.get(port)
        return 0 if queue is None else queue.queue_bytes

    def open(self, port: Port, *, room_bytes: int) -> None:
        """A link is there, and takes so many bytes."""
        self._queues[port] = OutputQueue(
            self._queue_bytes_max, room_bytes=room_bytes, lane_of=self._lane_of
        )

    def close(self, port: Port) -> None:
        """A link is gone, with what was queued for it."""
        self._queues.pop(port, None)
        self._ready.pop(port, None)

    def clear(self, port: Port) -> None:
        """Forgets what waits for a link that takes nothing."""
        queue = self._queues.get(port)
        if queue is not None:
            queue.clear()

    def add_room(self, port: Port, size_bytes: int) -> bool:
        """A link takes so many more bytes; False if it is gone."""
        queue = self._queues.get(port)
        if queue is None:
            return False
        queue.room_bytes += size_bytes
        self._ready[port] = queue
        return True

    def put(self, port: Port, frames: Iterable[Frame], *, may_drop: bool = False) -> None:
        """Adds frames, if the link is still there."""
        queue = self._queues.get(port)
        if queue is not None:
            self._ready[port] = queue
            for frame in frames:
                queue.put(frame, self._size_of(frame), may_drop=may_drop)

    def take(self) -> Send[Frame] | None:
        """The next frame of any link that has room."""
        ready = self._ready
        while ready:
            port, queue = next(iter(ready.items()))
            frame = queue.take()
            if frame is not None:
                return Send(port, frame)
            del ready[port]
        return None
