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
from penstock.overlay.counters import Count, Counters
from penstock.overlay.facts import Decision, Reason, What
from penstock.overlay.forwarding.congestion_mark import mark_parcel
from penstock.overlay.forwarding.destinations import by_port, common_port, fitting
from penstock.overlay.forwarding.duplicate_filter import Seen
from penstock.overlay.forwarding.routing_key import Address
from penstock.overlay.output_queue import Outbox
from penstock.overlay.routing.routing_database import Knowledge
from penstock.overlay.sessions.client_sessions import Clients
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import Parcel
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub

_COUNTER_MASK: Final = 2**32 - 1

# Naming and hashing a member of an enum takes longer than counting: done once, not per message.
_DATA: Final = TrafficClass.DATA
_PUBLISHED: Final = Count.PUBLISHED.value
_FORWARDED: Final = Count.FORWARDED.value
_DELIVERED: Final = Count.DELIVERED.value
_FILTERED: Final = Count.FILTERED.value
_NO_MATCH: Final = Count.NO_MATCH.value


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
        *,
        tells: bool = False,
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
        self._tells = tells

    def on_pub(self, pub: Pub, via: Port, now: Instant) -> None:  # noqa: ARG002
        """A client publishes: its message is encoded here and nowhere else."""
        counters = self._counters
        parcel, traffic = pub.parcel, pub.traffic
        if traffic is _DATA:
            message = self._address.message(parcel.frame)
            bits = self._encoder.message_bits(message)
            # A publisher that subscribes to its own messages gets them.
            here = self._clients.wanting(message)
        else:
            bits = self._address.request_bits(parcel.frame)
            # A request asks others.
            here = [port for port in self._clients.answering(bits) if port != via]
        counters[_PUBLISHED] += 1
        if self._tells:
            self._tell("entered", None, parcel)
        origins = self._knowledge.adverts[traffic].wanted_by(bits)
        if not here and not origins:
            counters[_FILTERED] += 1
            if self._tells:
                self._tell("filtered", None, parcel)
            return
        self._notify(here, parcel)
        groups, lost = by_port(origins, self._knowledge.ports())
        # One id for all: copies, and parts of one list, differ in their destinations.
        packet = self._next_id() if groups else None
        if lost:
            self._drop("no_route", lost, packet, parcel)
        if packet is None:
            return
        for port, destinations in groups.items():
            for part in fitting(destinations, parcel):
                self._forward(
                    port,
                    Packet(id=packet, traffic=traffic, destinations=part, parcel=parcel),
                )

    def on_packet(self, packet: Packet, via: Port, now: Instant) -> None:  # noqa: ARG002
        """A copy arrives: for our clients, for brokers behind us, or both."""
        parcel = packet.parcel
        destinations = self.seen.fresh(packet.id, packet.destinations)
        if not destinations or packet.id.origin == self._me:
            self._drop("duplicate", 1, packet.id, parcel)
            return
        if self._me in destinations:
            self._deliver(packet)
            destinations = tuple([broker for broker in destinations if broker != self._me])
            if not destinations:
                return
        if packet.ttl <= 1:
            self._drop("ttl", len(destinations), packet.id, parcel)
            return
        ports = self._knowledge.ports()
        port = common_port(destinations, ports)
        if port is not None:
            self._forward(port, packet.relayed(destinations))
            return
        groups, lost = by_port(destinations, ports)
        if lost:
            self._drop("no_route", lost, packet.id, parcel)
        for port, behind in groups.items():
            self._forward(port, packet.relayed(tuple(behind)))

    def _deliver(self, packet: Packet) -> None:
        frame = packet.parcel.frame
        if packet.traffic is _DATA:
            ports = self._clients.wanting(self._address.message(frame))
        else:
            ports = self._clients.answering(self._address.request_bits(frame))
        if not ports:
            self._counters[_NO_MATCH] += 1
            if self._tells:
                self._tell("no_match", packet.id, packet.parcel)
        parcel = mark_parcel(packet.parcel) if packet.is_marked and ports else packet.parcel
        self._notify(ports, parcel, packet.id)

    def _notify(self, ports: list[Port], parcel: Parcel, packet: PacketId | None = None) -> None:
        if ports:
            self._counters[_DELIVERED] += len(ports)
            if self._tells:
                for port in ports:
                    self._tell("handed_over", packet, parcel, port)
            self._out.flood(ports, [Notify(parcel=parcel)])

    def _forward(self, port: Port, packet: Packet) -> None:
        self._counters[_FORWARDED] += 1
        if self._tells:
            self._tell("forwarded", packet.id, packet.parcel, port)
        self._out.send(port, packet)

    def _drop(self, reason: Reason, count: int, packet: PacketId | None, parcel: Parcel) -> None:
        """Counters and decisions have one word for each reason."""
        self._counters[reason] += count
        if self._tells:
            self._tell("dropped", packet, parcel, None, reason)

    def _tell(
        self,
        what: What,
        packet: PacketId | None,
        parcel: Parcel,
        towards: Port | None = None,
        reason: Reason | None = None,
    ) -> None:
        self._out.tell(Decision(what, packet, parcel.frame, towards, reason))

    def _next_id(self) -> PacketId:
        self._packets = (self._packets + 1) & _COUNTER_MASK
        return PacketId(self._me, self._epoch, self._packets)
