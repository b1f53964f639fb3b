"""When all have the object, nothing is left of its transfer.

No relay point, no control frame without an answer, and no transfer at the controller. An offer that
nobody wants any more waits for as long as its application does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.sim.cast.cast_applications import ReceivingProgram, SendingProgram
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.stream_programs import ReadingProgram, WritingProgram
from penstock.sim.checkers.cast.base import CastChecker


class QuietChecker(CastChecker):
    """Looks at the end only."""

    name = "quiet"

    def __init__(
        self,
        sender: SendingProgram | WritingProgram,
        receivers: Sequence[ReceivingProgram | ReadingProgram],
    ) -> None:
        super().__init__()
        self._sender: Final = sender
        self._receivers: Final = receivers

    def at_end(self, network: CastNetwork) -> None:
        """Looks into every machine."""
        for what in self.left_over(network):
            self.report(what)

    def left_over(self, network: CastNetwork) -> Iterator[str]:
        """What nodes still have to do."""
        is_unwanted = self.is_unwanted
        for name, node in network.nodes.items():
            for what, count in node.machine.unfinished().items():
                waits = is_unwanted and what == "publishers" and name == self._sender.node
                if count > waits:
                    yield f"{name}: {count} {what}"

    @property
    def is_unwanted(self) -> bool:
        """Whether the object is offered, and nobody wants it."""
        is_wanted = any(receiver.is_subscribed for receiver in self._receivers)
        return self._sender.is_running and not is_wanted
