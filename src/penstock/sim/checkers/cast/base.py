"""The interface of the checkers of casts."""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.cast_watcher import CastWatcher
from penstock.wire.frames.cast.base import CastFrame

# More of the same says nothing new.
LINES_MAX: Final = 20


class CastChecker(CastWatcher):
    """Override the events of interest; call `report` on a breach."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.wrong: Final[list[str]] = []

    def report(self, what: str) -> None:
        """Notes a breach of a promise."""
        if len(self.wrong) < LINES_MAX:
            self.wrong.append(f"[{self.name}] {what}")

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        """A node sends a frame."""

    def sample(self, network: CastNetwork) -> None:
        """Looks at all machines, every now and then."""

    def at_end(self, network: CastNetwork) -> None:
        """Looks at all machines when everything has long worked again and all are done."""


class CheckedFrames:
    """Shows every frame to checkers."""

    def __init__(self, checkers: list[CastChecker]) -> None:
        self._checkers: Final = checkers

    def sent(
        self,
        node: str,
        port: Port,
        frame: CastFrame,
        size_bytes: int,  # noqa: ARG002
        *,
        now: Instant,  # noqa: ARG002
    ) -> None:
        """A node sends a frame."""
        for checker in self._checkers:
            checker.sent(node, port, frame)

    def arrived(self, node: str, frame: CastFrame, *, now: Instant) -> None:
        """A frame has come to a node."""
