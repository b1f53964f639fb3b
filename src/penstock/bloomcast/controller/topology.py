"""The topology manager: what nodes say of their links, for as long as they say it.

Pages of one number take effect together. Every table is bounded; what is refused comes back as a
value that says why.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from penstock.bloomcast.controller.network import Network, are_consistent, network_of
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortState

# A head's configuration has room for so many ends in its 255 pages.
NODES_MAX: Final = 4_096
# Of all nodes, those of pages that wait for others included.
PORTS_MAX: Final = 65_536
FORGET_NS: Final[Duration] = 30 * SECOND

# The number of a node's start, and of its link state since then.
_Version = tuple[int, int]
_NO_VERSION: Final[_Version] = (-1, -1)
_NO_ROLES: Final = CastRole(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStateRefused:
    """A LINK_STATE that is not taken."""

    node: int
    name: str
    # A word for programs: `same_id`, `nodes_full`, `ports_full` or `odd_ports`.
    reason: str
    text: str


@dataclass(slots=True)
class _Node:
    name: str
    heard_at: Instant
    version: _Version = _NO_VERSION
    roles: CastRole = _NO_ROLES
    ports: tuple[PortState, ...] = ()
    # Pages of a later version that is not complete.
    next_version: _Version = _NO_VERSION
    next_pages: dict[int, tuple[PortState, ...]] = field(default_factory=dict)

    @property
    def waiting_ports(self) -> int:
        return sum(map(len, self.next_pages.values()))


class TopologyManager:
    """All nodes of a domain, and the network that they form."""

    def __init__(
        self,
        *,
        nodes_max: int = NODES_MAX,
        ports_max: int = PORTS_MAX,
        forget_ns: Duration = FORGET_NS,
    ) -> None:
        self._nodes_max: Final = nodes_max
        self._ports_max: Final = ports_max
        self._forget_ns: Final = forget_ns
        # Those that were silent for longest come first.
        self._nodes: Final[OrderedDict[int, _Node]] = OrderedDict()
        self._ports = 0
        self._network: Network | None = None
        # Changes whenever the network may have.
        self.version = 0

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: int) -> bool:
        return node in self._nodes

    def name_of(self, node: int) -> str | None:
        """What a node calls itself, if it is there."""
        known = self._nodes.get(node)
        return None if known is None else known.name

    @property
    def network(self) -> Network:
        """What can be used now."""
        if self._network is None:
            self._network = network_of(
                (node, known.roles, known.ports) for node, known in self._nodes.items()
            )
        return self._network

    def on_link_state(
        self, state: LinkState, *, boot: int = 0, now: Instant
    ) -> LinkStateRefused | None:
        """Takes a page; `boot` is the start of the node, since when it counts its link states."""
        known = self._nodes.get(state.node)
        if known is None:
            if len(self._nodes) >= self._nodes_max:
                return _refused(state, "nodes_full", f"there are {self._nodes_max:,} others")
            known = self._nodes[state.node] = _Node(state.name, now)
        elif known.name != state.name:
            return _refused(state, "same_id", f"{known.name!r} has it: delete its state file")
        version = (boot, state.number)
        if version < known.version:
            return None
        known.heard_at = now
        self._nodes.move_to_end(state.node)
        if version == known.version:
            return None
        return self._take_page(known, state, version)

    def _take_page(
        self, known: _Node, state: LinkState, version: _Version
    ) -> LinkStateRefused | None:
        if version < known.next_version:
            return None
        if version > known.next_version:
            self._drop_pages(known)
            known.next_version = version
        if state.page in known.next_pages:
            return None
        if self._ports + len(state.ports) > self._ports_max:
            self._drop_pages(known)
            return _refused(state, "ports_full", f"all nodes have {self._ports_max:,} ports")
        self._ports += len(state.ports)
        known.next_pages[state.page] = state.ports
        if len(known.next_pages) < state.pages:
            return None
        ports = tuple(port for _, page in sorted(known.next_pages.items()) for port in page)
        if not are_consistent(ports):
            self._drop_pages(known)
            return _refused(state, "odd_ports", "a port has two secrets or neighbours")
        self._ports -= len(known.ports)
        known.next_pages = {}
        if (known.roles, known.ports) != (state.roles, ports):
            self._changed()
        known.version, known.roles, known.ports = version, state.roles, ports
        return None

    def expire(self, *, now: Instant) -> list[int]:
        """Forgets nodes that were silent for too long, and returns them."""
        gone = []
        while self._nodes:
            node, known = next(iter(self._nodes.items()))
            if now - known.heard_at < self._forget_ns:
                break
            self._drop_pages(known)
            self._ports -= len(known.ports)
            del self._nodes[node]
            gone.append(node)
        if gone:
            self._changed()
        return gone

    def next_wakeup(self) -> Instant | None:
        """When a node is to be forgotten next."""
        for known in self._nodes.values():
            return known.heard_at + self._forget_ns
        return None

    def _drop_pages(self, known: _Node) -> None:
        self._ports -= known.waiting_ports
        known.next_pages = {}

    def _changed(self) -> None:
        self._network = None
        self.version += 1


def _refused(state: LinkState, reason: str, why: str) -> LinkStateRefused:
    return LinkStateRefused(
        node=state.node,
        name=state.name,
        reason=reason,
        text=f"node {state.name!r} with id {state.node:08x} is not taken: {why}",
    )
