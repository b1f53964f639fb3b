"""The controller: rendezvous point and topology manager in one process."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.rendezvous import Rendezvous
from penstock.bloomcast.controller.routes import Routes
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import LinkTagTable, TaggedNetwork
from penstock.bloomcast.controller.topology import TopologyManager
from penstock.bloomcast.discovery.control import Control, Route
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.uplinks import BEACONS_A_LIFE
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import CastBody, Item, Origin
from penstock.wire.frames.cast.membership import Advertise, Subscribe, Unsubscribe
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.topology import LinkState
from penstock.wire.frames.cast.transfer import Stop


class Controller:
    """Of one domain."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        ports: Ports,
        *,
        domain: bytes,
        settings: CastSettings,
        now: Instant,
    ) -> None:
        self._out: Final = out
        self._ports: Final = ports
        self._domain: Final = domain
        self._settings: Final = settings
        self._topology: Final = TopologyManager()
        self._tags: Final = LinkTagTable()
        self._tagged: TaggedNetwork | None = None
        self._version = -1
        self._routes: Final = Routes(out.node)
        self._rendezvous: Final = Rendezvous(
            out, control, network=self._network, settings=settings.controller
        )
        # Whoever hears a beacon of another life tells everything again.
        self._beacon = out.boot * BEACONS_A_LIFE & 0xFFFF_FFFF
        self._beacon_at = now

    def on_control(self, body: CastBody, item: Item, origin: Origin, now: Instant) -> None:
        """A control frame that has come all the way up."""
        rendezvous = self._rendezvous
        if isinstance(body, LinkState):
            if body.node == origin.node:
                self._topology.on_link_state(body, boot=origin.boot, now=now)
                self._look(now)
                if body.node in self._topology:
                    rendezvous.on_boot(body.node, origin.boot, now)
        elif isinstance(body, Advertise):
            rendezvous.on_advertise(item, body, origin, now)
        elif isinstance(body, Subscribe):
            rendezvous.on_subscribe(item, body, origin, now)
        elif isinstance(body, Unsubscribe):
            rendezvous.on_unsubscribe(item, body.subscriber, origin, now)
        elif isinstance(body, Stop):
            rendezvous.on_stopped(item, origin)

    def on_confirmed(self, now: Instant) -> None:
        """A node has acknowledged a control frame, or was given up."""
        self._rendezvous.on_confirmed(now)

    def on_given_up(self, to: int, body: CastBody, item: Item, now: Instant) -> None:
        """A node has not answered."""
        self._rendezvous.on_given_up(to, body, item, now)

    def route_to(self, node: int) -> Route | None:
        """The way down to a node."""
        return self._routes.to(self._network(), node)

    @property
    def running(self) -> int:
        """Transfers that have begun."""
        return self._rendezvous.running

    def plan_of(self, item: Item) -> TransferPlan | None:
        """The latest plan of an item."""
        return self._rendezvous.plan_of(item)

    def wake(self, now: Instant) -> None:
        """Says where it is, and does what is due."""
        if self._beacon_at <= now:
            self._beacon_at = now + self._settings.discovery.beacon_ns
            self._say()
        gone = self._topology.expire(now=now)
        self._look(now)
        for node in gone:
            self._rendezvous.on_gone(node, now)
        self._rendezvous.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(
            self._beacon_at, self._topology.next_wakeup(), self._rendezvous.next_wakeup()
        )

    def _say(self) -> None:
        self._beacon = self._beacon + 1 & 0xFFFF_FFFF
        for info in self._ports:
            beacon = Beacon(
                origin=self._out.next_origin(),
                controller=self._out.node,
                domain=self._domain,
                tag_epoch=0,
                number=self._beacon,
                hops=0,
            )
            self._out.send(info.port, beacon)

    def _look(self, now: Instant) -> None:
        """Tells the rendezvous point if the network is another one."""
        if self._topology.version != self._version:
            self._version = self._topology.version
            self._tagged = None
            self._routes.forget()
            self._rendezvous.on_network_change(now)

    def _network(self) -> TaggedNetwork:
        if self._tagged is None:
            self._tagged = TaggedNetwork(self._topology.network, 0, self._tags)
        return self._tagged
