"""Endpoints around a hub, on the hosts of one world.

The link from a client to the hub has no delay and no loss unless an access link is given; a
message lost there is lost to all receivers. Each client has its own path from the hub. Knows no
workload and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias

from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Machine
from penstock.kernel.seeds import Seeds
from penstock.sim.channel.channel_port import ChannelPort
from penstock.sim.channel.ideal_network import IdealNetwork
from penstock.sim.channel.link import ReorderingLink
from penstock.sim.channel.path_model import PathModel
from penstock.sim.clock import Clock
from penstock.sim.host import Framing, Host, Outlets
from penstock.sim.link_spec import LinkSpec
from penstock.sim.world import World
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import EndpointSettings, OrderingSettings
from penstock.wire import decode, encode, size_of

# Makes the machine of a client at each start: an endpoint or the bare port.
MakeClient: TypeAlias = Callable[[ChannelPort, Instant], Machine[Any]]
# Called with a client's name and each frame that the network delivers to the transport there.
OnFrameArrived: TypeAlias = Callable[[str, Any], None]

HUB: Final = "hub"
_SALT: Final = b"simulated"


def _bare_port(port: ChannelPort, _now: Instant) -> Machine[Any]:
    return port


class ChannelNetwork:
    """A hub and its clients; `path` leads to each client that has no path of its own."""

    def __init__(
        self,
        seeds: Seeds,
        path: PathModel,
        *,
        codec: bool = False,
        outlets: Outlets | None = None,
    ) -> None:
        framing = Framing[Any](size_of=size_of, codec=(encode, decode) if codec else None)
        self.world: Final = World[Any](seeds, framing)
        # For each endpoint, the name of the ordering of each subscription, by subscription id.
        self.orderings: Final[dict[str, dict[int, str]]] = {}
        self._path: Final = path
        self._outlets: Final = outlets
        self._encoder: Final = Encoder(_SALT)
        self._hops: Final[dict[str, int]] = {}
        self.world.add_host(HUB, lambda _now: IdealNetwork())

    def add_client(
        self,
        name: str,
        make: MakeClient = _bare_port,
        *,
        on_arrived: OnFrameArrived | None = None,
        path: PathModel | None = None,
        clock: Clock | None = None,
        access: LinkSpec | None = None,
    ) -> Host[Any, Any]:
        """Adds a client that runs the machine `make` makes of its port and its local time."""
        path = path or self._path
        self._hops[name] = path.hops
        tap = None if on_arrived is None else partial(on_arrived, name)
        host = self.world.add_host(
            name,
            lambda now: make(ChannelPort(HUB, tap), now),
            clock=clock,
            outlets=self._outlets,
        )
        self.world.connect(name, HUB, access or LinkSpec(), back=LinkSpec())
        hub = self.world.host(HUB)
        link = ReorderingLink[Any](
            f"{HUB}-{name}",
            path,
            partial(host.arrive, HUB),
            events=self.world.events,
            seeds=self.world.seeds,
        )
        if hub.observer is not None:
            link.observe(hub.observer)
        # Replaces the link that preserves order.
        self.world.links[HUB, name] = hub.links[name] = link
        return host

    def subscribe(self, name: str, predicate: Predicate, *, subscription_id: int = 1) -> None:
        """Subscribes a client without a transport, now."""
        self.world.host(name).call(
            lambda client, now: client.subscribe(subscription_id, predicate, now=now),
        )

    def add_endpoint(
        self,
        name: str,
        *,
        publisher: int,
        settings: EndpointSettings,
        on_arrived: OnFrameArrived | None = None,
        clock: Clock | None = None,
        access: LinkSpec | None = None,
    ) -> Host[Any, Endpoint[Any]]:
        """Adds a client with a transport, which publishes under the id `publisher`."""
        epochs = count()
        self.orderings[name] = {}

        def make(port: ChannelPort, _now: Instant) -> Endpoint[Any]:
            epoch = next(epochs)
            return Endpoint[Any](
                port,
                endpoint_id=publisher,
                epoch=epoch,
                encoder=self._encoder,
                settings=settings,
                draw=self.world.seeds.rng("endpoint", name, str(epoch)).random,
            )

        return self.add_client(name, make, on_arrived=on_arrived, clock=clock, access=access)

    def subscribe_endpoint(
        self, name: str, predicate: Predicate, orderings: Mapping[str, OrderingSettings]
    ) -> None:
        """Subscribes the endpoint once for each ordering; a restart does not renew this."""

        def subscribe(ordering: str, endpoint: Endpoint[Any], now: Instant) -> None:
            subscription_id = endpoint.subscribe(predicate, ordering=orderings[ordering], now=now)
            self.orderings[name][subscription_id] = ordering

        for ordering in orderings:
            self.world.host(name).call(partial(subscribe, ordering))

    def close_endpoints(self) -> None:
        """Ends all subscriptions: buffered messages are delivered, missing ones given up."""
        for name, subscription_ids in self.orderings.items():
            for subscription_id in subscription_ids:
                self.world.host(name).call(partial(_unsubscribe, subscription_id))

    def brokers_between(self, _one: str, other: str) -> int:
        """Number of hops to a client, from any publisher."""
        return self._hops[other]


def _unsubscribe(subscription_id: int, endpoint: Endpoint[Any], now: Instant) -> None:
    endpoint.unsubscribe(subscription_id, now=now)
