"""The interface of the checkers of guaranteed streams."""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.watcher import NetworkWatcher

# More of the same says nothing new.
LINES_MAX: Final = 20


class StreamChecker(NetworkWatcher):
    """Override the events of interest; call `report` on a breach."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.wrong: Final[list[str]] = []

    def report(self, what: str) -> None:
        """Notes a breach of a promise."""
        if len(self.wrong) < LINES_MAX:
            self.wrong.append(f"[{self.name}] {what}")

    def sample(self, network: StreamNetwork) -> None:
        """Looks at all machines, every now and then."""

    def at_end(self, network: StreamNetwork) -> None:
        """Looks at all machines when everything has long worked again and nobody publishes."""
