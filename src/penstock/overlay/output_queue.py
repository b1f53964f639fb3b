"""What waits to be polled. A driver empties it after every input, so it needs no bound."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.kernel.machine import Port, Record, Send
from penstock.overlay.facts import RoutingDecision
from penstock.wire.frames.base import OverlayFrame


class OutputQueue:
    """First in, first out."""

    __slots__ = ("_outputs",)

    def __init__(self) -> None:
        self._outputs: deque[Send[OverlayFrame] | Record] = deque()

    def send(self, port: Port, frame: OverlayFrame) -> None:
        """To one port."""
        self._outputs.append(Send(port, frame))

    def flood(self, ports: Iterable[Port], frames: Sequence[OverlayFrame]) -> None:
        """All frames to each port."""
        for port in ports:
            self._outputs.extend([Send(port, frame) for frame in frames])

    def record(self, decision: RoutingDecision) -> None:
        """To whoever keeps the trace."""
        self._outputs.append(Record(decision))

    def poll(self) -> Send[OverlayFrame] | Record | None:
        """The next one."""
        return self._outputs.popleft() if self._outputs else None
