"""What a topology manager knows: nodes and their last starts, links with tags, and ways down.

The network is found anew for all changes of a while together: one change may take work for every
node that there is, and when a network starts they come one upon the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.bloomcast.controller.routes import Routes
from penstock.bloomcast.controller.tagged_network import LinkTagTable, TaggedNetwork
from penstock.bloomcast.controller.topology import TopologyManager
from penstock.bloomcast.discovery.control import Route
from penstock.kernel.instant import MILLISECOND, Duration, Instant, earliest
from penstock.wire.frames.cast.planning import VoidBefore
from penstock.wire.frames.cast.topology import LinkState

_TOGETHER_NS: Final[Duration] = 100 * MILLISECOND


class NetworkMap:
    """Of one domain."""

    def __init__(self, node: int) -> None:
        self._topology: Final = TopologyManager()
        self._tags: Final = LinkTagTable()
        self._tagged: TaggedNetwork | None = None
        self._version = 0
        # Until then it stays as it is.
        self._renewable_at: Instant = 0
        self._routes: Final = Routes(node)
        # The last start of each node that there is.
        self._boots: Final[dict[int, int]] = {}

    def on_link_state(self, state: LinkState, boot: int, now: Instant) -> VoidBefore | None:
        """Takes what a node says of itself; tells if it has restarted."""
        self._topology.on_link_state(state, boot=boot, now=now)
        if state.node not in self._topology:
            return None
        before = self._boots.get(state.node, boot)
        self._boots[state.node] = max(before, boot)
        return VoidBefore(state.node, boot) if boot > before else None

    def expire(self, now: Instant) -> list[VoidBefore]:
        """Forgets nodes that were silent for long: if one comes back, it says everything again."""
        gone = self._topology.expire(now=now)
        boots = [(node, self._boots.pop(node, None)) for node in gone]
        return [VoidBefore(node, boot + 1) for node, boot in boots if boot is not None]

    def has_changed(self, now: Instant) -> bool:
        """Whether the network is another one than at the last call that said so."""
        if self._topology.version == self._version or now < self._renewable_at:
            return False
        self._version = self._topology.version
        self._renewable_at = now + _TOGETHER_NS
        self._tagged = None
        self._routes.forget()
        return True

    def network(self) -> TaggedNetwork:
        """What can be used."""
        if self._tagged is None:
            self._tagged = TaggedNetwork(self._topology.network, 0, self._tags)
        return self._tagged

    def route_to(self, node: int) -> Route | None:
        """The way down to a node."""
        return self._routes.to(self.network(), node)

    def boot_of(self, node: int) -> int:
        """The last start of a node; 0 for one that is not known."""
        return self._boots.get(node, 0)

    def reached(self, nodes: Iterable[int]) -> int:
        """How many of them have links that are known."""
        ways = self.network().network.ways
        return sum(bool(ways.get(node)) for node in nodes)

    def next_wakeup(self) -> Instant | None:
        """When a node is to be forgotten next, or changes count."""
        is_old = self._topology.version != self._version
        return earliest(self._topology.next_wakeup(), self._renewable_at if is_old else None)
