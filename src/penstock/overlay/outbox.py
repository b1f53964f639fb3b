"""Frames waiting to be polled. A driver empties it after every input, so it needs no bound."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from penstock.kernel.machine import Port, Send
from penstock.wire.frames.base import OverlayFrame


class Outbox:
    """First in, first out."""

    __slots__ = ("_sends",)

    def __init__(self) -> None:
        self._sends: deque[Send[OverlayFrame]] = deque()

    def send(self, port: Port, frame: OverlayFrame) -> None:
        """To one port."""
        self._sends.append(Send(port, frame))

    def flood(self, ports: Iterable[Port], frames: Sequence[OverlayFrame]) -> None:
        """All frames to each port."""
        for port in ports:
            self._sends.extend([Send(port, frame) for frame in frames])

    def poll(self) -> Send[OverlayFrame] | None:
        """The next one."""
        return self._sends.popleft() if self._sends else None
