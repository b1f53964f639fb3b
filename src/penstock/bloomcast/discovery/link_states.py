"""LINK_STATE: tells topology managers of this node's links, on change and every few seconds."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.discovery.control import NO_ITEM, Control
from penstock.bloomcast.discovery.neighbours import Neighbours
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortState

# With the longest of names, one more would not fit a frame.
_PORTS_A_PAGE: Final = 47


class LinkStates:
    """What this node says of itself."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        ports: Ports,
        neighbours: Neighbours,
        uplinks: Uplinks,
        *,
        name: str,
        roles: CastRole,
        settings: DiscoverySettings,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._ports: Final = ports
        self._neighbours: Final = neighbours
        self._uplinks: Final = uplinks
        self._name: Final = name
        self._roles: Final = roles
        self._settings: Final = settings
        self._number = 0
        self._due_at: Instant | None = None

    def on_change(self, now: Instant) -> None:
        """Something changed: says so soon, together with what else does."""
        at = now + self._settings.link_state_delay_ns
        if self._due_at is None or at < self._due_at:
            self._due_at = at

    def wake(self, now: Instant) -> None:
        """Says what is due."""
        if self._due_at is not None and self._due_at <= now:
            self._due_at = now + self._settings.link_state_ns
            self._say(now)

    def next_wakeup(self) -> Instant | None:
        """When it speaks next."""
        return self._due_at

    def _say(self, now: Instant) -> None:
        self._number += 1
        self._control.withdraw(LinkState, item=NO_ITEM)
        states = [
            PortState(
                port=info.number,
                kind=info.kind,
                neighbour=node,
                secret=info.secret,
                cost=info.cost,
            )
            for info in self._ports
            for node in self._neighbours.at(info.port)
        ]
        pages = max(1, -(-len(states) // _PORTS_A_PAGE))
        for page in range(pages):
            body = LinkState(
                node=self._out.node,
                name=self._name,
                roles=self._roles,
                number=self._number,
                page=page,
                pages=pages,
                ports=tuple(states[page * _PORTS_A_PAGE : (page + 1) * _PORTS_A_PAGE]),
            )
            for manager in self._uplinks.topology_managers():
                self._control.send_up(body, to=manager, now=now)
