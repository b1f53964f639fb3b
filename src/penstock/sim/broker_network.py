"""Brokers and clients of the overlay on the hosts of one world.

A broker knows its own links and nothing else when it starts, and again when it
restarts. A client runs bare, or with a transport above it as an endpoint. Its
application is thought to survive its host: what it asked for is asked again
after a restart. Knows no workload and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.overlay.client import OverlayClient
from penstock.overlay.forwarding.congestion_mark import mark_congestion
from penstock.overlay.settings import DEFAULTS, OverlaySettings
from penstock.sim.host import Framing, Host, Marking, Outlets, Workers
from penstock.sim.link_spec import LinkSpec
from penstock.sim.topology import Topology
from penstock.sim.world import World
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import EndpointSettings, OrderingSettings
from penstock.wire import decode, encode, size_of
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub

ClientHost: TypeAlias = Host[Any, OverlayClient]
EndpointHost: TypeAlias = Host[Any, Endpoint[Any]]
# Hears the name of a client and what the network hands to the transport there.
Arrived: TypeAlias = Callable[[str, Any], None]

_SALT: Final = b"simulated"
_CARRIERS: Final = frozenset({Packet, Pub, Notify})


def is_control(frame: OverlayFrame) -> bool:
    """Whether a frame carries no message: a queue full of messages must not silence neighbours."""
    return type(frame) not in _CARRIERS


class _Wish(NamedTuple):
    ordering: str
    predicate: Predicate
    settings: OrderingSettings


class BrokerNetwork:
    """A topology of brokers, joined by links like `link` where an edge does not say otherwise."""

    def __init__(
        self,
        seeds: Seeds,
        topology: Topology,
        link: LinkSpec,
        *,
        workers: Workers | None = None,
        settings: OverlaySettings = DEFAULTS,
        codec: bool = False,
        outlets: Outlets | None = None,
        tells: bool = False,
        mark_above: float | None = None,
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
        # For each endpoint, the orderings of its subscriptions, by their numbers.
        self.orderings: Final[dict[str, dict[int, str]]] = {}
        self._wishes: Final[dict[str, list[_Wish]]] = {}
        self._settings: Final = settings
        self._outlets: Final = outlets
        self._distances: Final[dict[str, dict[str, int]]] = {}
        neighbours = topology.neighbours()
        # What it remembers is a function of content alone: one for all saves time and memory.
        self._encoder: Final = Encoder(_SALT)
        marking = (
            None if mark_above is None else Marking[Any](above=mark_above, mark=mark_congestion)
        )
        for number, name in enumerate(topology.nodes, start=1):
            make = _broker_maker(number, neighbours[name], self._encoder, settings, tells)
            self.world.add_host(name, make, workers=workers, outlets=outlets, marking=marking)
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

    def add_endpoint(
        self,
        name: str,
        broker: str,
        *,
        pub: int,
        settings: EndpointSettings,
        arrived: Arrived | None = None,
        access: LinkSpec | None = None,
    ) -> EndpointHost:
        """A client of `broker` with a transport, which publishes as `pub`."""
        self.homes[name], self._wishes[name], self.orderings[name] = broker, [], {}
        epochs = count()

        def make(now: Instant) -> Endpoint[Any]:
            epoch = next(epochs)
            client = _client(name, broker, epoch + 1, self._settings, arrived)
            client.link_up(now=now)
            endpoint = Endpoint[Any](
                client,
                endpoint_id=pub,
                epoch=epoch,
                encoder=self._encoder,
                settings=settings,
                draw=self.world.seeds.rng("endpoint", name, str(epoch)).random,
            )
            self.orderings[name].clear()
            for wish in self._wishes[name]:
                self._ask(name, wish, endpoint, now)
            return endpoint

        host = self.world.add_host(name, make, outlets=self._outlets)
        self.world.connect(name, broker, access or LinkSpec())
        return host

    def subscribe_endpoint(
        self, name: str, predicate: Predicate, orderings: Mapping[str, OrderingSettings]
    ) -> None:
        """The application asks once for each ordering, from now on and after every restart."""
        for ordering, settings in orderings.items():
            wish = _Wish(ordering, predicate, settings)
            self._wishes[name].append(wish)
            self.world.host(name).call(partial(self._ask, name, wish))

    def close_endpoints(self) -> None:
        """All end their subscriptions: what is held is handed over, what is missing given up."""
        for name, numbers in self.orderings.items():
            for number in list(numbers):
                self.world.host(name).call(partial(_end, number))

    def _ask(self, name: str, wish: _Wish, endpoint: Endpoint[Any], now: Instant) -> None:
        number = endpoint.subscribe(wish.predicate, ordering=wish.settings, now=now)
        self.orderings[name][number] = wish.ordering

    def brokers_between(self, one: str, other: str) -> int:
        """How many brokers a message from one client to another crosses, on a shortest path."""
        home = self.homes[one]
        if home not in self._distances:
            self._distances[home] = self.topology.distances(home)
        return self._distances[home][self.homes[other]] + 1


class _Overheard(OverlayClient):
    """A client of which somebody hears what it is handed, before the transport above does."""

    def __init__(
        self, name: str, arrived: Arrived, port: Port, epoch: int, settings: OverlaySettings
    ):
        super().__init__(port, epoch, settings=settings)
        self._name: Final = name
        self._arrived: Final = arrived

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """As a client does."""
        if type(frame) is Notify:
            self._arrived(self._name, frame.carried.frame)
        super().receive(frame, via=via, now=now)


def _end(number: int, endpoint: Endpoint[Any], now: Instant) -> None:
    endpoint.unsubscribe(number, now=now)


def _client(
    name: str, broker: str, epoch: int, settings: OverlaySettings, arrived: Arrived | None
) -> OverlayClient:
    if arrived is None:
        return OverlayClient(broker, epoch, settings=settings)
    return _Overheard(name, arrived, broker, epoch, settings)


def _broker_maker(
    number: int, neighbours: list[str], encoder: Encoder, settings: OverlaySettings, tells: bool
) -> Callable[[Instant], Broker]:
    epochs = count(1)

    def make(now: Instant) -> Broker:
        broker = Broker(number, next(epochs), encoder, settings=settings, records_decisions=tells)
        for port in neighbours:
            broker.link_up(port, 1, now=now)
        return broker

    return make


def _client_maker(
    broker: str, wanted: dict[int, Predicate], settings: OverlaySettings
) -> Callable[[Instant], OverlayClient]:
    epochs = count(1)

    def make(now: Instant) -> OverlayClient:
        client = OverlayClient(broker, next(epochs), settings=settings)
        client.link_up(now=now)
        for number, predicate in wanted.items():
            client.subscribe(number, predicate, now=now)
        return client

    return make
