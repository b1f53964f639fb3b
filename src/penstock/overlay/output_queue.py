"""What waits to be polled. A driver empties it after every input, so it needs no bound."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.kernel.machine import Port, Record, Send
from penstock.overlay.facts import Decision
from penstock.wire.frames.base import OverlayFrame


class Outbox:
    """First in, first out."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Send[OverlayFrame] | Record] = deque()

    def send(self, port: Port, frame: OverlayFrame) -> None:
        """To one port."""
        self._waiting.append(Send(port, frame))

    def flood(self, ports: Iterable[Port], frames: Sequence[OverlayFrame]) -> None:
        """All frames to each port."""
        for port in ports:
            self._waiting.extend([Send(port, frame) for frame in frames])

    def tell(self, decision: Decision) -> None:
        """To whoever keeps the trace."""
        self._waiting.append(Record(decision))

    def poll(self) -> Send[OverlayFrame] | Record | None:
        """The next one."""
        return self._waiting.popleft() if self._waiting else None
