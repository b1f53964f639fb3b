"""A node of casts: host, router and controller in any mix, with its publishers and subscribers."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.controller import Controller
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.discovery.control import Control, Route
from penstock.bloomcast.discovery.link_states import LinkStates
from penstock.bloomcast.discovery.neighbours import Neighbours
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.replay_window import ReplayWindow
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import Held, Offer, Verdict
from penstock.bloomcast.machines import MACHINES, AnyPublisher, AnySubscriber
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.publisher import Phase
from penstock.bloomcast.router.forwarder import Forwarder
from penstock.bloomcast.router.transfers import RelayPoints
from penstock.bloomcast.settings import CastSettings
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
from penstock.wire.frames.cast.membership import Advertise, Subscribe, Unsubscribe
from penstock.wire.frames.cast.neighbours import Beacon, Hello
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, Start
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.topology import CastRole, PortKind
from penstock.wire.frames.cast.transfer import FirstRequest, Stop

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
        self._machines: Final = MACHINES[settings.variant]
        self._seeds: Final = seeds
        self._secrets: Final = seeds.rng("link secrets")
        self._out: Final = Outbox(node, boot)
        is_router = bool(roles & CastRole.ROUTER)
        is_controller = bool(roles & _CONTROLLER)
        self._is_router: Final = is_router
        self._ports: Final = Ports()
        self._forwarder: Final = Forwarder(
            self._out, self._ports, ones_max=settings.forwarded_ones_max
        )
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
            self._out,
            self._ports,
            domain=domain,
            is_router=is_router,
            settings=discovery,
            on_controller=self._on_controller,
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
            on_given_up=self._on_given_up,
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
        self._publishers: Final[dict[Item, AnyPublisher]] = {}
        self._subscribers: Final[dict[Item, AnySubscriber]] = {}
        # Frames of transfers that were taken here.
        self._seen: Final = ReplayWindow(
            window=discovery.replay_window, senders_max=discovery.senders_max
        )
        # Frames that had come before.
        self.replayed = 0
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
        before = self._publishers.get(offer.item)
        assert before is None or before.phase is Phase.STOPPED, offer.item
        self._publishers[offer.item] = self._machines.publisher(
            self._out,
            offer,
            settings=self._settings,
            forward=self._put,
            send_up=lambda body, at: self._say_up(body, offer.item, at),
        )
        # What became of the last transfer is nothing to this one.
        self._control.withdraw(Stop, item=offer.item)
        self._publishers[offer.item].advertise(now)

    def subscribe(self, item: Item, *, held: Held | None = None, now: Instant) -> None:
        """Wants an object, but for the blocks that it has."""
        self._control.withdraw(Unsubscribe, item=item)
        assert item not in self._subscribers, item
        self._subscribers[item] = self._machines.subscriber(
            self._out,
            self._control,
            item,
            name=self.name,
            settings=self._settings.subscriber,
            rate=self._settings.rate,
            seeds=self._seeds.child("subscriber", str(item)),
            send=self._send_back,
            held=held,
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

    def plan_of(self, item: Item) -> TransferPlan | None:
        """At a controller, the latest plan of an item."""
        return None if self._controller is None else self._controller.plan_of(item)

    def port_number(self, port: Port) -> int:
        """By which number LINK_STATE names a port; -1 if there is none."""
        return self._ports[port].number if port in self._ports else -1

    def is_waiting(self, item: Item) -> bool:
        """Whether it wants an item of which nothing has come yet."""
        subscriber = self._subscribers.get(item)
        return subscriber is not None and not subscriber.is_opened

    def unfinished(self) -> dict[str, int]:
        """What is still to be done, by what it is."""
        running = 0 if self._controller is None else self._controller.running
        return {
            "control frames": self._control.pending,
            "relay points": len(self._relays),
            "publishers": len(self._publishers),
            "subscribers": len(self._subscribers),
            "running transfers": running,
        }

    def disk_rate(self, item: Item, rate_bps: int | None) -> None:
        """The disk keeps up with so many bytes a second only; None: with what comes."""
        subscriber = self._subscribers.get(item)
        if subscriber is not None:
            subscriber.disk_rate(rate_bps)

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
        for item, publisher in list(self._publishers.items()):
            publisher.wake(now)
            if publisher.is_gone:
                del self._publishers[item]
        for item, subscriber in list(self._subscribers.items()):
            subscriber.wake(now)
            self._forget_stopped(item, subscriber)

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
        if self._forwarder.is_too_full(packet):
            return
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
        if not self._takes_part(header.item):
            return
        if packet.origin is not None and not self._seen.is_new(packet.origin):
            self.replayed += 1
            return
        if isinstance(body, Report | FirstRequest | AllowedRate):
            publisher = self._publishers.get(header.item)
            if publisher is not None and publisher.head.has_segment(header.segment):
                if isinstance(body, Report):
                    publisher.on_report(header, body, now)
                elif isinstance(body, AllowedRate):
                    publisher.on_rate(header, body, now)
                else:
                    publisher.on_first_request(body, now)
                return
        else:
            subscriber = self._subscribers.get(header.item)
            if subscriber is not None:
                subscriber.on_packet(packet, via, now)
                self._forget_stopped(header.item, subscriber)
        if self._is_router:
            is_subscribed = header.item in self._subscribers
            self._relays.on_packet(packet, now, is_subscribed=is_subscribed)

    def _takes_part(self, item: Item) -> bool:
        return item in self._publishers or item in self._subscribers or item in self._relays

    def _forget_stopped(self, item: Item, subscriber: AnySubscriber) -> None:
        if subscriber.is_stopped and self._subscribers.get(item) is subscriber:
            del self._subscribers[item]

    def _send_back(self, packet: Packet, port: Port, now: Instant) -> None:
        """What a subscriber here says to a head."""
        is_report = isinstance(packet.body, Report | AllowedRate)
        if is_report and self._relays.takes_reports_for(packet.header):
            self._relays.on_local_report(packet, now)
        elif port in self._ports:
            self._out.send(port, packet)

    def _say_up(self, body: CastBody, item: Item, now: Instant) -> None:
        """What a publisher says to the controller; its latest offer counts."""
        if isinstance(body, Advertise | Stop):
            self._control.withdraw(Advertise, item=item)
        self._control.send_up(body, item=item, now=now)

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

    def _on_controller(self, now: Instant) -> None:
        """One that knows nothing of this node yet."""
        self._link_states.on_change(now)
        for publisher in self._publishers.values():
            publisher.advertise(now)
        for subscriber in self._subscribers.values():
            subscriber.on_controller(now)

    def _on_given_up(self, to: int, body: CastBody, item: Item, now: Instant) -> None:
        """What was not answered is said again, for as long as it is true."""
        publisher, subscriber = self._publishers.get(item), self._subscribers.get(item)
        if self._controller is not None:
            self._controller.on_given_up(to, body, item, now)
        elif isinstance(body, Advertise) and publisher is not None:
            publisher.on_unanswered(now)
        elif isinstance(body, Subscribe) and subscriber is not None:
            subscriber.on_unanswered(now)
        elif isinstance(body, Stop | Unsubscribe):
            self._control.send_up(body, item=item, now=now)

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
