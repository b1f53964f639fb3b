"""A node of casts: host, router and controller in any mix, with its publishers and subscribers."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.controller import Controller
from penstock.bloomcast.discovery.control import Control, Route
from penstock.bloomcast.discovery.link_states import LinkStates
from penstock.bloomcast.discovery.neighbours import Neighbours
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import Offer, Verdict
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.publisher import Phase, Publisher
from penstock.bloomcast.router.forwarder import Forwarder
from penstock.bloomcast.router.transfers import RelayPoints
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.subscriber.subscriber import Subscriber
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Output, Port
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.base import (
    DOMAIN_BYTES,
    SECRET_BYTES,
    CastBody,
    CastFrame,
    Item,
    Origin,
)
from penstock.wire.frames.cast.control import Down, Up
from penstock.wire.frames.cast.membership import Advertise
from penstock.wire.frames.cast.neighbours import Beacon, Hello
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, Start
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.topology import CastRole, PortKind
from penstock.wire.frames.cast.transfer import FirstRequest

_CONTROLLER: Final = CastRole.RENDEZVOUS | CastRole.TOPOLOGY
_NO_DOMAIN: Final = bytes(DOMAIN_BYTES)


class CastNode:
    """One node, as a machine."""

    def __init__(
        self,
        node: int,
        name: str,
        *,
        boot: int,
        roles: CastRole,
        seeds: Seeds,
        now: Instant,
        domain: bytes = _NO_DOMAIN,
        settings: CastSettings | None = None,
    ) -> None:
        self.id: Final = node
        self.name: Final = name
        settings = settings or CastSettings()
        self._settings: Final = settings
        self._seeds: Final = seeds
        self._secrets: Final = seeds.rng("link secrets")
        self._out: Final = Outbox(node, boot)
        is_router = bool(roles & CastRole.ROUTER)
        is_controller = bool(roles & _CONTROLLER)
        self._is_router: Final = is_router
        self._ports: Final = Ports()
        self._forwarder: Final = Forwarder(self._out, self._ports)
        discovery = settings.discovery
        self._neighbours: Final = Neighbours(
            self._out,
            self._ports,
            domain=domain,
            is_router=is_router,
            settings=discovery,
            on_change=self._on_change,
        )
        self._uplinks: Final = Uplinks(
            self._out, self._ports, domain=domain, is_router=is_router, settings=discovery
        )
        self._control: Final = Control(
            self._out,
            self._uplinks,
            settings=discovery,
            is_controller=is_controller,
            route_to=self._route_to,
            forward=self._forwarder.forward,
            on_up=self._on_up,
            on_down=self._on_down,
            on_settled=self._on_settled,
        )
        self._link_states: Final = LinkStates(
            self._out,
            self._control,
            self._ports,
            self._neighbours,
            name=name,
            roles=roles,
            settings=discovery,
        )
        self._controller: Final = (
            Controller(
                self._out, self._control, self._ports, domain=domain, settings=settings, now=now
            )
            if is_controller
            else None
        )
        self._relays: Final = RelayPoints(self._out, settings=settings, forward=self._put)
        self._publishers: Final[dict[Item, Publisher]] = {}
        self._subscribers: Final[dict[Item, Subscriber]] = {}
        self._neighbours.start(now)
        self._link_states.on_change(now)

    # Links.

    def link_up(
        self, port: Port, *, kind: PortKind = PortKind.POINT_TO_POINT, cost: int = 1
    ) -> None:
        """A link came up; whoever is at its other end will say so."""
        self._ports.add(port, kind, self._secrets.randbytes(SECRET_BYTES), cost)
        self._neighbours.port_up(port)

    def link_down(self, port: Port, *, now: Instant) -> None:
        """A link is gone."""
        self._ports.remove(port)
        self._uplinks.port_down(port)
        self._neighbours.port_down(port, now)

    # What the application wants.

    def publish(self, offer: Offer, *, now: Instant) -> None:
        """Offers an object; it is sent when subscribers have come."""
        assert offer.item not in self._publishers, offer.item
        self._publishers[offer.item] = Publisher(
            self._out,
            offer,
            settings=self._settings,
            forward=self._put,
            on_stopped=lambda stop, at: self._control.send_up(stop, item=offer.item, now=at),
        )
        body = Advertise(
            publisher=self.id,
            epoch=offer.epoch,
            object_id=offer.object_id,
            kind=offer.kind,
            length_bytes=offer.length_bytes,
            receivers=offer.receivers,
            wait_ms=offer.wait_ms,
        )
        self._control.send_up(body, item=offer.item, now=now)

    def subscribe(self, item: Item, *, now: Instant) -> None:
        """Wants an object."""
        assert item not in self._subscribers, item
        self._subscribers[item] = Subscriber(
            self._out,
            self._control,
            item,
            name=self.name,
            settings=self._settings.subscriber,
            seeds=self._seeds.child("subscriber", str(item)),
            now=now,
        )

    def leave(self, item: Item, *, reason: str = "", now: Instant) -> None:
        """Does not want it any more."""
        subscriber = self._subscribers.pop(item, None)
        if subscriber is not None:
            subscriber.leave(reason, now)

    def decoded(self, item: Item, block: int, verdict: Verdict) -> None:
        """What came of a `BlockDecodable`."""
        subscriber = self._subscribers.get(item)
        if subscriber is not None:
            subscriber.decoded(block, verdict)

    # The machine.

    def receive(self, frame: CastFrame, *, via: Port, now: Instant) -> None:
        """Handles a frame that arrived by `via`."""
        if isinstance(frame, Packet):
            self._on_packet(frame, via, now)
        elif isinstance(frame, Hello):
            self._neighbours.on_hello(frame, via, now)
        elif isinstance(frame, Beacon):
            self._uplinks.on_beacon(frame, via, now)

    def wake(self, *, now: Instant) -> None:
        """Runs all timers that are due."""
        self._neighbours.wake(now)
        self._uplinks.wake(now)
        self._control.wake(now)
        self._link_states.wake(now)
        if self._controller is not None:
            self._controller.wake(now)
        self._relays.wake(now)
        for publisher in self._publishers.values():
            publisher.wake(now)
        for subscriber in self._subscribers.values():
            subscriber.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(
            self._neighbours.next_wakeup(),
            self._uplinks.next_wakeup(),
            self._control.next_wakeup(),
            self._link_states.next_wakeup(),
            None if self._controller is None else self._controller.next_wakeup(),
            self._relays.next_wakeup(),
            *[publisher.next_wakeup() for publisher in self._publishers.values()],
            *[subscriber.next_wakeup() for subscriber in self._subscribers.values()],
        )

    def poll(self) -> Output[CastFrame] | None:
        """The next output."""
        return self._out.poll()

    # Parts of the above.

    def _on_packet(self, packet: Packet, via: Port, now: Instant) -> None:
        body = packet.body
        if isinstance(body, Up):
            self._control.on_up(packet, body, now)
            return
        if isinstance(body, Down):
            if body.to == self.id:
                self._control.on_down(packet, body, now)
                return
        else:
            self._take(packet, via, now)
        if self._is_router:
            self._forwarder.forward(packet, via)

    def _take(self, packet: Packet, via: Port, now: Instant) -> None:
        """A packet of a transfer: hands it to whoever takes part here."""
        header, body = packet.header, packet.body
        if isinstance(body, Report | FirstRequest):
            publisher = self._publishers.get(header.item)
            if publisher is not None and publisher.head.has_segment(header.segment):
                if isinstance(body, Report):
                    publisher.on_report(header, body, now)
                else:
                    publisher.on_first_request(body, now)
                return
        else:
            subscriber = self._subscribers.get(header.item)
            if subscriber is not None:
                subscriber.on_packet(packet, via, now)
        if self._is_router:
            self._relays.on_packet(packet, now)

    def _put(self, packet: Packet) -> None:
        """Sends a packet that this node made."""
        self._forwarder.forward(packet, None)

    def _on_change(self, now: Instant) -> None:
        self._link_states.on_change(now)

    def _route_to(self, node: int) -> Route | None:
        return None if self._controller is None else self._controller.route_to(node)

    def _on_up(self, body: CastBody, item: Item, origin: Origin, now: Instant) -> None:
        if self._controller is not None:
            self._controller.on_control(body, item, origin, now)

    def _on_settled(self, now: Instant) -> None:
        if self._controller is not None:
            self._controller.on_confirmed(now)

    def _on_down(self, body: CastBody, item: Item, now: Instant) -> None:
        if isinstance(body, RelayConfig):
            self._relays.configure(item, body, now)
        elif isinstance(body, Start):
            publisher = self._publishers.get(item)
            if publisher is not None and publisher.phase is not Phase.STOPPED:
                publisher.configure(body, now)
