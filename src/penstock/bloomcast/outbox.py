"""What a node has to say, in order, and the numbers of its frames."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.bloomcast.facts import CastFact
from penstock.kernel.machine import Deliver, Output, Port, Send
from penstock.wire.frames.cast.base import CastFrame, Origin


class Outbox:
    """All parts of one node put their frames and facts here."""

    __slots__ = ("_number", "_outputs", "boot", "node")

    def __init__(self, node: int, boot: int) -> None:
        self.node: Final = node
        # Which start of the node this is.
        self.boot: Final = boot
        self._number = 0
        self._outputs: Final[deque[Output[CastFrame]]] = deque()

    def next_origin(self) -> Origin:
        """The origin of the next frame that this node makes."""
        self._number = self._number + 1 & 0xFFFF_FFFF
        return Origin(self.node, self.boot, self._number)

    def send(self, port: Port, frame: CastFrame) -> None:
        """Puts a frame on its way by one port."""
        self._outputs.append(Send(port, frame))

    def tell(self, fact: CastFact) -> None:
        """Tells the driver."""
        self._outputs.append(Deliver(fact))

    def poll(self) -> Output[CastFrame] | None:
        """The next output, if there is one."""
        return self._outputs.popleft() if self._outputs else None
