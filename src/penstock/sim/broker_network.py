"""Brokers and clients of the overlay on the hosts of one world.

A broker knows its own links and nothing else when it starts, and again when it
restarts. A client's application is thought to survive its host: what it asked
for is asked again after a restart. Knows no workload and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.overlay.client import Client
from penstock.overlay.settings import DEFAULTS, Settings
from penstock.sim.host import Framing, Host, Outlets, Workers
from penstock.sim.spec import LinkSpec
from penstock.sim.topology import Topology
from penstock.sim.world import World
from penstock.wire import decode, encode, size_of
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub

ClientHost: TypeAlias = Host[Any, Client]

_SALT: Final = b"simulated"
_CARRIERS: Final = frozenset({Packet, Pub, Notify})


def is_control(frame: OverlayFrame) -> bool:
    """Whether a frame carries no message: a queue full of messages must not silence neighbours."""
    return type(frame) not in _CARRIERS


class BrokerNetwork:
    """A topology of brokers, joined by links like `link` where an edge does not say otherwise."""

    def __init__(
        self,
        seeds: Seeds,
        topology: Topology,
        link: LinkSpec,
        *,
        workers: Workers | None = None,
        settings: Settings = DEFAULTS,
        codec: bool = False,
        outlets: Outlets | None = None,
        tells: bool = False,
    ) -> None:
        self.topology: Final = topology
        framing = Framing[Any](
            size_of=size_of,
            is_urgent=is_control,
            codec=(encode, decode) if codec else None,
        )
        self.world: Final = World[Any](seeds, framing)
        # The broker of each client, and what each client asks for, by its own number.
        self.homes: Final[dict[str, str]] = {}
        self.wanted: Final[dict[str, dict[int, Predicate]]] = {}
        self._settings: Final = settings
        self._outlets: Final = outlets
        self._distances: Final[dict[str, dict[str, int]]] = {}
        neighbours = topology.neighbours()
        # What it remembers is a function of content alone: one for all saves time and memory.
        encoder = Encoder(_SALT)
        for number, name in enumerate(topology.nodes, start=1):
            make = _broker_maker(number, neighbours[name], encoder, settings, tells)
            self.world.add_host(name, make, workers=workers, outlets=outlets)
        self.world.connect_all(topology, link)

    def add_client(self, name: str, broker: str, access: LinkSpec | None = None) -> ClientHost:
        """A client of `broker`, over a link without limit or delay unless `access` says else."""
        wanted: dict[int, Predicate] = {}
        self.wanted[name], self.homes[name] = wanted, broker
        make = _client_maker(broker, wanted, self._settings)
        host = self.world.add_host(name, make, outlets=self._outlets)
        self.world.connect(name, broker, access or LinkSpec())
        return host

    def subscribe(self, name: str, predicate: Predicate, *, number: int = 1) -> None:
        """The client asks, from now on and after every restart."""
        self.wanted[name][number] = predicate
        self.world.host(name).call(
            lambda client, now: client.subscribe(number, predicate, now=now),
        )

    def unsubscribe(self, name: str, *, number: int = 1) -> None:
        """The client has had enough."""
        self.wanted[name].pop(number, None)
        self.world.host(name).call(lambda client, now: client.unsubscribe(number, now=now))

    def brokers_between(self, one: str, other: str) -> int:
        """How many brokers a message from one client to another crosses, on a shortest path."""
        home = self.homes[one]
        if home not in self._distances:
            self._distances[home] = self.topology.distances(home)
        return self._distances[home][self.homes[other]] + 1


def _broker_maker(
    number: int, neighbours: list[str], encoder: Encoder, settings: Settings, tells: bool
) -> Callable[[Instant], Broker]:
    epochs = count(1)

    def make(now: Instant) -> Broker:
        broker = Broker(number, next(epochs), encoder, settings=settings, tells=tells)
        for port in neighbours:
            broker.link_up(port, 1, now=now)
        return broker

    return make


def _client_maker(
    broker: str, wanted: dict[int, Predicate], settings: Settings
) -> Callable[[Instant], Client]:
    epochs = count(1)

    def make(now: Instant) -> Client:
        client = Client(broker, next(epochs), settings=settings)
        client.link_up(now=now)
        for number, predicate in wanted.items():
            client.subscribe(number, predicate, now=now)
        return client

    return make
