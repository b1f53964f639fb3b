"""Messages on their way: destinations found once, copies made where routes part.

At the first broker a message is encoded, and the brokers that want it become
its destinations. From there each copy carries those that lie behind one next
hop. At its destination the exact predicates decide who gets it.
"""

from __future__ import annotations

from typing import Final

from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.overlay.address import Address
from penstock.overlay.clients import Clients
from penstock.overlay.counters import Count, Counters
from penstock.overlay.forwarding import by_port, fitting
from penstock.overlay.knowledge import Knowledge
from penstock.overlay.outbox import Outbox
from penstock.overlay.seen import Seen
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.parcel import Parcel
from penstock.wire.frames.pub import Pub
from penstock.wire.limits import TTL_DEFAULT

_COUNTER_MASK: Final = 2**32 - 1


class Delivery:
    """One broker's part in carrying messages; `me` and `epoch` name the packets it makes."""

    def __init__(
        self,
        me: int,
        epoch: int,
        encoder: Encoder,
        address: Address,
        clients: Clients,
        knowledge: Knowledge,
        seen_max: int,
        counters: Counters,
        out: Outbox,
    ) -> None:
        self._me = me
        self._epoch = epoch
        self._packets = 0
        self._encoder = encoder
        self._address = address
        self._clients = clients
        self._knowledge = knowledge
        self.seen = Seen(seen_max)
        self._counters = counters
        self._out = out

    def on_pub(self, pub: Pub, via: Port, now: Instant) -> None:  # noqa: ARG002
        """A client publishes: its message is encoded here and nowhere else."""
        counters = self._counters
        parcel, traffic = pub.parcel, pub.traffic
        if traffic is TrafficClass.DATA:
            message = self._address.message(parcel.frame)
            bits = self._encoder.message_bits(message)
            # A publisher that subscribes to its own messages gets them.
            here = self._clients.wanting(message)
        else:
            bits = self._address.request_bits(parcel.frame)
            # A request asks others.
            here = [port for port in self._clients.answering(bits) if port != via]
        counters[Count.PUBLISHED] += 1
        origins = self._knowledge.adverts[traffic].wanted_by(bits)
        if not here and not origins:
            counters[Count.FILTERED] += 1
            return
        self._notify(here, parcel)
        groups, lost = by_port(origins, self._knowledge.ports())
        counters[Count.NO_ROUTE] += lost
        if not groups:
            return
        # One id for all: copies, and parts of one list, differ in their destinations.
        packet = self._next_id()
        for port, destinations in groups.items():
            for part in fitting(destinations, parcel):
                self._forward(port, packet, traffic, part, parcel)

    def on_packet(self, packet: Packet, via: Port, now: Instant) -> None:  # noqa: ARG002
        """A copy arrives: for our clients, for brokers behind us, or both."""
        counters = self._counters
        destinations = self.seen.fresh(packet.id, packet.destinations)
        if not destinations or packet.id.origin == self._me:
            counters[Count.DUPLICATE] += 1
            return
        if self._me in destinations:
            self._deliver(packet)
            destinations = tuple([broker for broker in destinations if broker != self._me])
            if not destinations:
                return
        if packet.ttl <= 1:
            counters[Count.TTL] += len(destinations)
            return
        groups, lost = by_port(destinations, self._knowledge.ports())
        counters[Count.NO_ROUTE] += lost
        for port, behind in groups.items():
            self._forward(
                port, packet.id, packet.traffic, tuple(behind), packet.parcel, packet.ttl - 1
            )

    def _deliver(self, packet: Packet) -> None:
        frame = packet.parcel.frame
        if packet.traffic is TrafficClass.DATA:
            ports = self._clients.wanting(self._address.message(frame))
        else:
            ports = self._clients.answering(self._address.request_bits(frame))
        if not ports:
            self._counters[Count.NO_MATCH] += 1
        self._notify(ports, packet.parcel)

    def _notify(self, ports: list[Port], parcel: Parcel) -> None:
        if ports:
            self._counters[Count.DELIVERED] += len(ports)
            self._out.flood(ports, [Notify(parcel=parcel)])

    def _forward(
        self,
        port: Port,
        packet: PacketId,
        traffic: TrafficClass,
        destinations: tuple[int, ...],
        parcel: Parcel,
        ttl: int = TTL_DEFAULT,
    ) -> None:
        self._counters[Count.FORWARDED] += 1
        self._out.send(
            port,
            Packet(id=packet, traffic=traffic, destinations=destinations, parcel=parcel, ttl=ttl),
        )

    def _next_id(self) -> PacketId:
        self._packets = (self._packets + 1) & _COUNTER_MASK
        return PacketId(self._me, self._epoch, self._packets)
