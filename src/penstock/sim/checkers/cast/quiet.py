"""When all have the object, nothing is left of its transfer.

No relay point, no control frame without an answer, and no transfer at the controller.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.checkers.cast.base import CastChecker


class QuietChecker(CastChecker):
    """Looks at the end only."""

    name = "quiet"

    def at_end(self, network: CastNetwork) -> None:
        """Looks into every machine."""
        for what in left_over(network):
            self.report(what)


def left_over(network: CastNetwork) -> Iterator[str]:
    """What nodes still have to do."""
    for name, node in network.nodes.items():
        for what, count in node.machine.unfinished().items():
            if count:
                yield f"{name}: {count} {what}"
