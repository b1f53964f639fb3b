"""Nodes of casts in one simulated world, with links between them.

Drives each machine as a driver on sockets does: frames in, outputs drained, one timer re-armed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_crossings import Crossings
from penstock.sim.cast.cast_link import CastLink
from penstock.sim.cast.cast_observer import CastObserver
from penstock.sim.cast.cast_watcher import CastWatcher
from penstock.sim.cast.datagram_sizes import datagram_bytes
from penstock.sim.cast.link_faults import LinkFaults
from penstock.sim.cast.sim_node import SimNode
from penstock.sim.cast.symbol_loss import SymbolLoss
from penstock.sim.events import EventQueue
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.topology import CastRole, PortKind

HOST: Final = CastRole(0)
# The port of a router to its local network.
_LAN: Final = "lan"


class CastNetwork:
    """All of it, with one clock and one seed."""

    def __init__(
        self,
        seeds: Seeds,
        *,
        settings: CastSettings | None = None,
        delay_ns: Duration = 5 * MILLISECOND,
        rate_bps: int | None = None,
        loss: float = 0.0,
        # How many symbols are lost in a row, on average.
        burst: float = 1.0,
        # None: frames arrive as they are.
        through_codec: Callable[[CastFrame], CastFrame] | None = None,
        size_of: Callable[[CastFrame], int] = datagram_bytes,
        observer: CastObserver | None = None,
    ) -> None:
        self.seeds: Final = seeds
        self.events: Final = EventQueue()
        self.settings: Final = settings or CastSettings()
        self.size_of: Final = size_of
        self.observer: Final = observer
        self.watchers: Final[list[CastWatcher]] = []
        self.crossings: Final = Crossings()
        self.nodes: Final[dict[str, SimNode]] = {}
        self._links: Final[dict[tuple[str, Port], CastLink]] = {}
        self._delay_ns: Final = delay_ns
        self._rate_bps: Final = rate_bps
        self._loss: Final = loss
        self._burst: Final = burst
        self._through_codec: Final = through_codec

    def add_node(
        self, name: str, roles: CastRole = HOST, *, scopes: tuple[int, ...] = ()
    ) -> SimNode:
        """Adds a node; without roles it is a host."""
        node = self.nodes[name] = SimNode(self, name, len(self.nodes) + 1, roles, scopes)
        return node

    def connect(
        self,
        one: str,
        other: str,
        *,
        loss: float | None = None,
        delay_ns: Duration | None = None,
        rate_bps: int | None = None,
        queue_bytes: int | None = None,
    ) -> None:
        """A link in both directions; a queue belongs to a rate."""
        for sender, receiver in ((one, other), (other, one)):
            link = CastLink(
                self.events,
                delay_ns=self._delay_ns if delay_ns is None else delay_ns,
                rate_bps=self._rate_bps if rate_bps is None else rate_bps,
                queue_bytes=queue_bytes,
            )
            self._put(link, sender, receiver, PortKind.POINT_TO_POINT)
            self._attach(sender, receiver, receiver, sender, loss)

    def add_lan(self, router: str, hosts: list[str], *, loss: float | None = None) -> None:
        """A network on which all hosts hear the router; each answers to it alone."""
        self._link(router, _LAN, PortKind.LAN)
        for host in hosts:
            self._link(host, router, PortKind.POINT_TO_POINT)
            self._attach(router, _LAN, host, router, loss)
            self._attach(host, router, router, _LAN, loss)

    def _link(self, sender: str, port: Port, kind: PortKind) -> None:
        link = CastLink(self.events, delay_ns=self._delay_ns, rate_bps=self._rate_bps)
        self._put(link, sender, port, kind)

    def link(self, sender: str, port: Port) -> CastLink:
        """One direction of a link."""
        return self._links[sender, port]

    def _put(self, link: CastLink, sender: str, port: Port, kind: PortKind) -> None:
        self._links[sender, port] = link
        self.nodes[sender].link_up(port, link, kind)

    def _attach(
        self, sender: str, port: Port, receiver: str, via: Port, loss: float | None
    ) -> None:
        node = self.nodes[receiver]
        share = self._loss if loss is None else loss
        rng = self.seeds.rng("link", sender, port, receiver, "loss")

        def arrive(frame: CastFrame) -> None:
            node.arrive(frame if self._through_codec is None else self._through_codec(frame), via)

        symbol_loss = SymbolLoss(share, rng, burst=self._burst)
        self._links[sender, port].connect(node.number, arrive, symbol_loss)

    # What goes wrong, and is mended.

    def cut(self, one: str, other: str, *, is_noticed: bool = False) -> None:
        """Nothing passes between two neighbours."""
        for sender, receiver in ((one, other), (other, one)):
            port = self._port_to(sender, receiver)
            self._links[sender, port].cut_off.add(self.nodes[receiver].number)
            if is_noticed and port != _LAN:
                self.nodes[sender].notice_cut(port)

    def mend(self, one: str, other: str) -> None:
        """It does again."""
        for sender, receiver in ((one, other), (other, one)):
            port = self._port_to(sender, receiver)
            self._links[sender, port].cut_off.discard(self.nodes[receiver].number)
            self.nodes[sender].notice_mend(port)

    def faults(self, sender: str, receiver: str) -> LinkFaults:
        """Of the link from one to the other; on a LAN, of all that its router sends."""
        link = self._links[sender, self._port_to(sender, receiver)]
        if link.faults is None:
            link.faults = LinkFaults(self.seeds.rng("faults", sender, receiver))
        return link.faults

    def _port_to(self, sender: str, receiver: str) -> Port:
        return receiver if (sender, receiver) in self._links else _LAN

    def run(self, duration_ns: Duration) -> None:
        """Lets time pass."""
        self.events.run(self.events.now + duration_ns)
