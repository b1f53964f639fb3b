"""A node of casts: host, router and controller in any mix, with its publishers and subscribers."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.controller import Controller
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.discovery.claims import Claim
from penstock.bloomcast.discovery.control import Control, Route, Told
from penstock.bloomcast.discovery.link_states import LinkStates
from penstock.bloomcast.discovery.neighbours import Neighbours
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.uplinks import Uplinks
from penstock.bloomcast.facts import Held, Offer, Verdict
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.participants import Participants
from penstock.bloomcast.router.forwarder import Forwarder
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
)
from penstock.wire.frames.cast.control import Down, Up
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.neighbours import Beacon, Hello
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.topology import CONTROLLER, CastRole, PortKind

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
        # Of a rendezvous point: what it is responsible for; none: what no other one names.
        scopes: tuple[int, ...] = (),
        settings: CastSettings | None = None,
    ) -> None:
        self.id: Final = node
        self.name: Final = name
        settings = settings or CastSettings()
        self._secrets: Final = seeds.rng("link secrets")
        self._out: Final = Outbox(node, boot)
        is_router = bool(roles & CastRole.ROUTER)
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
            on_lost=self._on_lost,
        )
        self._uplinks: Final = Uplinks(
            self._out,
            self._ports,
            domain=domain,
            is_router=is_router,
            settings=discovery,
            on_controller=self._on_controller,
        )
        self._uplinks.own = Claim(node, roles & CONTROLLER, scopes)
        self._control: Final = Control(
            self._out,
            self._uplinks,
            settings=discovery,
            forward=self._forwarder.forward,
            is_router=is_router,
            user=self,
        )
        self._link_states: Final = LinkStates(
            self._out,
            self._control,
            self._ports,
            self._neighbours,
            self._uplinks,
            name=name,
            roles=roles,
            settings=discovery,
        )
        self._controller: Final = (
            Controller(
                self._out,
                self._control,
                self._uplinks,
                self._ports,
                domain=domain,
                settings=settings,
                now=now,
            )
            if roles & CONTROLLER
            else None
        )
        self._participants: Final = Participants(
            self._out,
            self._control,
            self._ports,
            name=name,
            is_router=is_router,
            settings=settings,
            seeds=seeds,
            forward=self._put,
        )
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
        self._participants.publish(offer, now)

    def withdraw(self, item: Item, *, reason: str, now: Instant) -> None:
        """Ends what it publishes before all have it: receivers are told why."""
        self._participants.withdraw(item, reason, now)

    def write(self, item: Item, symbols: int, *, now: Instant) -> int:
        """Writes symbols of a stream that is offered; returns for how many there is room."""
        stream = self._participants.stream(item)
        return 0 if stream is None else stream.write(symbols, now)

    def close_block(self, item: Item, block: int, digest: bytes, *, now: Instant) -> None:
        """The hash of a `BlockFilled`."""
        stream = self._participants.stream(item)
        if stream is not None:
            stream.closed(block, digest, now)

    def finish(self, item: Item, *, now: Instant) -> None:
        """Nothing more will be written: the stream ends when all have it."""
        stream = self._participants.stream(item)
        if stream is not None:
            stream.finish(now)

    def subscribe(
        self,
        item: Item,
        *,
        kind: ObjectKind = ObjectKind.FILE,
        held: Held | None = None,
        now: Instant,
    ) -> None:
        """Wants an object of a kind, of a file but for the blocks that it has."""
        self._participants.subscribe(item, kind, held, now)

    def leave(self, item: Item, *, reason: str = "", now: Instant) -> None:
        """Does not want it any more."""
        self._participants.leave(item, reason, now)

    def decoded(self, item: Item, block: int, verdict: Verdict) -> None:
        """What came of a `BlockDecodable`."""
        subscriber = self._participants.subscribers.get(item)
        if subscriber is not None:
            subscriber.decoded(block, verdict)

    def disk_rate(self, item: Item, rate_bps: int | None) -> None:
        """The disk keeps up with so many bytes a second only; None: with what comes."""
        subscriber = self._participants.subscribers.get(item)
        if subscriber is not None:
            subscriber.disk_rate(rate_bps)

    # What it may be asked.

    def plan_of(self, item: Item) -> TransferPlan | None:
        """At a topology manager, the latest plan of an item."""
        return None if self._controller is None else self._controller.plan_of(item)

    def port_number(self, port: Port) -> int:
        """By which number LINK_STATE names a port; -1 if there is none."""
        return self._ports[port].number if port in self._ports else -1

    def is_waiting(self, item: Item) -> bool:
        """Whether it wants an item of which nothing has come yet."""
        subscriber = self._participants.subscribers.get(item)
        return subscriber is not None and not subscriber.is_opened

    @property
    def replayed(self) -> int:
        """Frames that had come before."""
        return self._participants.replayed

    def unfinished(self) -> dict[str, int]:
        """What is still to be done, by what it is."""
        running = 0 if self._controller is None else self._controller.running
        return {
            "control frames": self._control.pending,
            "relay points": len(self._participants.relays),
            "publishers": len(self._participants.publishers),
            "subscribers": len(self._participants.subscribers),
            "running transfers": running,
        }

    # The machine.

    def receive(self, frame: CastFrame, *, via: Port, now: Instant) -> None:
        """Handles a frame that arrived by `via`."""
        self._neighbours.on_frame(via, now)
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
        self._participants.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return earliest(
            self._neighbours.next_wakeup(),
            self._uplinks.next_wakeup(),
            self._control.next_wakeup(),
            self._link_states.next_wakeup(),
            None if self._controller is None else self._controller.next_wakeup(),
            self._participants.next_wakeup(),
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
            self._control.on_up(packet, body, via, now)
            return
        if isinstance(body, Down):
            self._control.on_down(packet, body, via, now)
            return
        self._participants.take(packet, via, now)
        if self._is_router:
            self._forwarder.forward(packet, via)

    def _put(self, packet: Packet) -> None:
        """Sends a packet that this node made."""
        self._forwarder.forward(packet, None)

    def _on_change(self, now: Instant) -> None:
        self._link_states.on_change(now)

    def _on_lost(self, port: Port, neighbour: int) -> None:
        self._uplinks.neighbour_lost(port, neighbour)

    def _on_controller(self, claim: Claim, now: Instant) -> None:
        """One that knows nothing of this node yet."""
        if self._controller is not None:
            self._controller.on_controller(claim, now)
        self._link_states.on_change(now)
        self._participants.on_controller(now)

    # Control frames: `ControlUser`.

    def has_map(self) -> bool:
        """Whether ways down are known here."""
        return self._controller is not None and self._controller.has_map()

    def route_to(self, node: int) -> Route | None:
        """The way down to a node."""
        return None if self._controller is None else self._controller.route_to(node)

    def takes(self, body: CastBody, item: Item) -> bool:
        """Whether this node is the controller for this."""
        return self._controller is not None and self._controller.takes(body, item)

    def on_up(self, told: Told, now: Instant) -> None:
        """Somebody tells this controller."""
        if self._controller is not None:
            self._controller.on_up(told, now)

    def on_down(self, told: Told, now: Instant) -> None:
        """A controller tells this node."""
        if self._controller is not None:
            self._controller.on_down(told, now)
        self._participants.on_told(told, now)

    def on_settled(self, now: Instant) -> None:
        """Something was acknowledged, or given up."""
        if self._controller is not None:
            self._controller.on_settled(now)
        self._participants.on_settled(now)

    def on_given_up(self, to: int, told: Told, now: Instant) -> None:
        """Something said up (`to` is 0) or down was given up."""
        if to == 0:
            self._participants.on_given_up(told, now)
        elif self._controller is not None:
            self._controller.on_given_up(to, told, now)
