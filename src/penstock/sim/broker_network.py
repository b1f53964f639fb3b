"""The overlay's brokers and clients, placed on the hosts of one world.

A broker knows only its own links when it starts or restarts. A client runs alone or below a
transport endpoint. Its application survives a crash of the host: the client renews all its
subscriptions after a restart. Knows no workload and records nothing.
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
# Called with a client's name and each frame that the overlay delivers to the transport there.
OnFrameArrived: TypeAlias = Callable[[str, Any], None]

_SALT: Final = b"simulated"
_MESSAGE_FRAMES: Final = frozenset({Packet, Pub, Notify})


def is_control(frame: OverlayFrame) -> bool:
    """Whether a frame carries no message, so that a queue full of messages cannot delay it."""
    return type(frame) not in _MESSAGE_FRAMES


class _EndpointInterest(NamedTuple):
    ordering: str
    predicate: Predicate
    settings: OrderingSettings


class BrokerNetwork:
    """A topology of brokers; `link` describes every edge that has no spec of its own."""

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
        records_decisions: bool = False,
        ecn_threshold: float | None = None,
    ) -> None:
        self.topology: Final = topology
        framing = Framing[Any](
            size_of=size_of,
            is_urgent=is_control,
            codec=(encode, decode) if codec else None,
        )
        self.world: Final = World[Any](seeds, framing)
        # The broker of each client, and its predicates by subscription id.
        self.home_brokers: Final[dict[str, str]] = {}
        self.client_interests: Final[dict[str, dict[int, Predicate]]] = {}
        # For each endpoint, the name of the ordering of each subscription, by subscription id.
        self.orderings: Final[dict[str, dict[int, str]]] = {}
        self._endpoint_interests: Final[dict[str, list[_EndpointInterest]]] = {}
        self._settings: Final = settings
        self._outlets: Final = outlets
        self._distances: Final[dict[str, dict[str, int]]] = {}
        neighbours = topology.neighbours()
        # The encoder's cache depends on content only, so that sharing one saves time and memory.
        self._encoder: Final = Encoder(_SALT)
        marking = (
            None
            if ecn_threshold is None
            else Marking[Any](threshold=ecn_threshold, mark=mark_congestion)
        )
        for broker_id, name in enumerate(topology.nodes, start=1):
            make = _broker_maker(
                broker_id, neighbours[name], self._encoder, settings, records_decisions
            )
            self.world.add_host(name, make, workers=workers, outlets=outlets, marking=marking)
        self.world.connect_all(topology, link)

    def add_client(self, name: str, broker: str, access: LinkSpec | None = None) -> ClientHost:
        """Adds a client of `broker`; without `access`, its link has no rate limit and no delay."""
        interests: dict[int, Predicate] = {}
        self.client_interests[name], self.home_brokers[name] = interests, broker
        make = _client_maker(broker, interests, self._settings)
        host = self.world.add_host(name, make, outlets=self._outlets)
        self.world.connect(name, broker, access or LinkSpec())
        return host

    def subscribe(self, name: str, predicate: Predicate, *, subscription_id: int = 1) -> None:
        """Subscribes the client, now and after every restart."""
        self.client_interests[name][subscription_id] = predicate
        self.world.host(name).call(
            lambda client, now: client.subscribe(subscription_id, predicate, now=now),
        )

    def unsubscribe(self, name: str, *, subscription_id: int = 1) -> None:
        """Ends one subscription of the client."""
        self.client_interests[name].pop(subscription_id, None)
        self.world.host(name).call(lambda client, now: client.unsubscribe(subscription_id, now=now))

    def add_endpoint(
        self,
        name: str,
        broker: str,
        *,
        publisher: int,
        settings: EndpointSettings,
        on_arrived: OnFrameArrived | None = None,
        access: LinkSpec | None = None,
    ) -> EndpointHost:
        """Adds a client of `broker` with a transport, which publishes under the id `publisher`."""
        self.home_brokers[name], self._endpoint_interests[name], self.orderings[name] = (
            broker,
            [],
            {},
        )
        epochs = count()

        def make(now: Instant) -> Endpoint[Any]:
            epoch = next(epochs)
            client = _client(name, broker, epoch + 1, self._settings, on_arrived)
            client.link_up(now=now)
            endpoint = Endpoint[Any](
                client,
                endpoint_id=publisher,
                epoch=epoch,
                encoder=self._encoder,
                settings=settings,
                draw=self.world.seeds.rng("endpoint", name, str(epoch)).random,
            )
            self.orderings[name].clear()
            for interest in self._endpoint_interests[name]:
                self._add_subscription(name, interest, endpoint, now)
            return endpoint

        host = self.world.add_host(name, make, outlets=self._outlets)
        self.world.connect(name, broker, access or LinkSpec())
        return host

    def subscribe_endpoint(
        self, name: str, predicate: Predicate, orderings: Mapping[str, OrderingSettings]
    ) -> None:
        """Subscribes the endpoint once for each ordering, now and after every restart."""
        for ordering, settings in orderings.items():
            interest = _EndpointInterest(ordering, predicate, settings)
            self._endpoint_interests[name].append(interest)
            self.world.host(name).call(partial(self._add_subscription, name, interest))

    def close_endpoints(self) -> None:
        """Ends all subscriptions: buffered messages are delivered, missing ones given up."""
        for name, subscription_ids in self.orderings.items():
            for subscription_id in list(subscription_ids):
                self.world.host(name).call(partial(_unsubscribe, subscription_id))

    def _add_subscription(
        self, name: str, interest: _EndpointInterest, endpoint: Endpoint[Any], now: Instant
    ) -> None:
        subscription_id = endpoint.subscribe(
            interest.predicate, ordering=interest.settings, now=now
        )
        self.orderings[name][subscription_id] = interest.ordering

    def brokers_between(self, one: str, other: str) -> int:
        """Number of brokers on a shortest path from one client to another."""
        home = self.home_brokers[one]
        if home not in self._distances:
            self._distances[home] = self.topology.distances(home)
        return self._distances[home][self.home_brokers[other]] + 1


class _TappedClient(OverlayClient):
    """A client that reports each frame to a callback before the transport above gets it."""

    def __init__(
        self,
        name: str,
        on_arrived: OnFrameArrived,
        port: Port,
        epoch: int,
        settings: OverlaySettings,
    ):
        super().__init__(port, epoch, settings=settings)
        self._name: Final = name
        self._on_arrived: Final = on_arrived

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Reports a notified frame, then handles it as any client."""
        if type(frame) is Notify:
            self._on_arrived(self._name, frame.carried.frame)
        super().receive(frame, via=via, now=now)


def _unsubscribe(subscription_id: int, endpoint: Endpoint[Any], now: Instant) -> None:
    endpoint.unsubscribe(subscription_id, now=now)


def _client(
    name: str, broker: str, epoch: int, settings: OverlaySettings, on_arrived: OnFrameArrived | None
) -> OverlayClient:
    if on_arrived is None:
        return OverlayClient(broker, epoch, settings=settings)
    return _TappedClient(name, on_arrived, broker, epoch, settings)


def _broker_maker(
    broker_id: int,
    neighbours: list[str],
    encoder: Encoder,
    settings: OverlaySettings,
    records_decisions: bool,
) -> Callable[[Instant], Broker]:
    epochs = count(1)

    def make(now: Instant) -> Broker:
        broker = Broker(
            broker_id, next(epochs), encoder, settings=settings, records_decisions=records_decisions
        )
        for port in neighbours:
            broker.link_up(port, 1, now=now)
        return broker

    return make


def _client_maker(
    broker: str, interests: dict[int, Predicate], settings: OverlaySettings
) -> Callable[[Instant], OverlayClient]:
    epochs = count(1)

    def make(now: Instant) -> OverlayClient:
        client = OverlayClient(broker, next(epochs), settings=settings)
        client.link_up(now=now)
        for subscription_id, predicate in interests.items():
            client.subscribe(subscription_id, predicate, now=now)
        return client

    return make
