"""The outputs of a broker, in FIFO order.

The driver empties the queue after every input, so it needs no bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.kernel.machine import Port, Record, Send
from penstock.overlay.facts import RoutingDecision
from penstock.wire.frames.base import OverlayFrame


class OutputQueue:
    """FIFO queue of frames to send and decisions to record."""

    __slots__ = ("_outputs",)

    def __init__(self) -> None:
        self._outputs: deque[Send[OverlayFrame] | Record] = deque()

    def send(self, port: Port, frame: OverlayFrame) -> None:
        """Queues a frame for one port."""
        self._outputs.append(Send(port, frame))

    def flood(self, ports: Iterable[Port], frames: Sequence[OverlayFrame]) -> None:
        """Queues all frames for each port."""
        for port in ports:
            self._outputs.extend([Send(port, frame) for frame in frames])

    def record(self, decision: RoutingDecision) -> None:
        """Queues a decision for the trace."""
        self._outputs.append(Record(decision))

    def poll(self) -> Send[OverlayFrame] | Record | None:
        """Removes and returns the next output; None if the queue is empty."""
        return self._outputs.popleft() if self._outputs else None
