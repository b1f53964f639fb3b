"""Networks for tests: links by name of their ends, as LINK_STATEs or as what comes of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise

from penstock.bloomcast.controller.network import Network, network_of
from penstock.kernel.seeds import Seeds
from penstock.sim.topology import scale_free
from penstock.wire.frames.cast.base import PORTS_MAX, SECRET_BYTES
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortKind, PortState

ROUTER = CastRole.ROUTER
HOST = CastRole(0)


def secret_of(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=SECRET_BYTES).digest()


@dataclass
class Builder:
    """Ports are numbered in the order of their links."""

    seed: int = 0
    roles: dict[int, CastRole] = field(default_factory=dict)
    ports: dict[int, list[PortState]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def routers(self, *nodes: int) -> Builder:
        for node in nodes:
            self._node(node, ROUTER)
        return self

    def hosts(self, *nodes: int) -> Builder:
        for node in nodes:
            self._node(node, HOST)
        return self

    def _node(self, node: int, role: CastRole) -> None:
        self.roles[node] = role
        self.ports.setdefault(node, [])
        self.counts.setdefault(node, 0)

    def _port(self, node: int) -> int:
        self.counts[node] += 1
        return self.counts[node]

    def _name(self, node: int, other: int, *, port: int, kind: PortKind, cost: int = 1) -> None:
        secret = secret_of(self.seed, node, port)
        self.ports[node].append(
            PortState(port=port, kind=kind, neighbour=other, secret=secret, cost=cost)
        )

    def one_way(self, one: int, other: int, *, cost: int = 1) -> Builder:
        self._name(one, other, port=self._port(one), kind=PortKind.POINT_TO_POINT, cost=cost)
        return self

    def link(self, one: int, other: int, *, cost: int = 1) -> Builder:
        return self.one_way(one, other, cost=cost).one_way(other, one, cost=cost)

    def lan(self, sender: int, members: Iterable[int]) -> Builder:
        port = self._port(sender)
        for member in members:
            self._name(sender, member, port=port, kind=PortKind.LAN)
            self.one_way(member, sender)
        return self

    def network(self) -> Network:
        return network_of((node, self.roles[node], tuple(self.ports[node])) for node in self.roles)

    def pages(self, node: int, *, number: int = 1, name: str | None = None) -> list[LinkState]:
        ports = self.ports[node]
        parts = [ports[at : at + PORTS_MAX] for at in range(0, len(ports), PORTS_MAX)] or [[]]
        return [
            LinkState(
                node=node,
                name=name or f"n{node}",
                roles=self.roles[node],
                number=number,
                page=page,
                pages=len(parts),
                ports=tuple(part),
            )
            for page, part in enumerate(parts)
        ]


def line(*nodes: int) -> Builder:
    """Routers one after the other."""
    made = Builder().routers(*nodes)
    for one, other in pairwise(nodes):
        made.link(one, other)
    return made


@dataclass(frozen=True)
class Cast:
    """A network with a publisher and subscribers."""

    network: Network
    publisher: int
    subscribers: Sequence[int]


def scale_free_cast(routers: int, subscribers: int, seed: int) -> Cast:
    """All of them on hosts at drawn routers, several at some (spec §12)."""
    seeds = Seeds(seed)
    topology = scale_free(routers, seeds)
    made = Builder(seed).routers(*range(1, routers + 1))
    for edge in topology.edges:
        made.link(int(edge.one[1:]), int(edge.other[1:]))
    rng = seeds.rng("places")
    hosts = range(10_001, 10_002 + subscribers)
    for host in hosts:
        made.hosts(host).link(rng.randrange(1, routers + 1), host)
    return Cast(made.network(), hosts[0], hosts[1:])
