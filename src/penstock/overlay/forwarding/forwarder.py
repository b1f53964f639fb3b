"""Forwards messages: destinations are computed once, copies are made where routes diverge.

The first broker encodes a message and determines its destination brokers. From there each copy
carries the destinations behind one next hop. The destination broker matches exact predicates to
find the clients.
"""

from __future__ import annotations

from typing import Final

from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.kernel.sequence import PACKET
from penstock.overlay.counters import Count, Counters
from penstock.overlay.facts import RoutingAction, RoutingDecision, RoutingDropReason
from penstock.overlay.forwarding.congestion_mark import mark_carried_frame
from penstock.overlay.forwarding.destinations import common_port, group_by_port, split_to_fit
from penstock.overlay.forwarding.duplicate_filter import DuplicateFilter
from penstock.overlay.forwarding.routing_key import RoutingKey
from penstock.overlay.output_queue import OutputQueue
from penstock.overlay.routing.routing_database import RoutingDatabase
from penstock.overlay.sessions.client_sessions import ClientSessions
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub

# Accessing and hashing an enum member costs more than counting, so it is done once.
_DATA: Final = TrafficClass.DATA
_PUBLISHED: Final = Count.PUBLISHED.value
_FORWARDED: Final = Count.FORWARDED.value
_DELIVERED: Final = Count.DELIVERED.value
_FILTERED: Final = Count.FILTERED.value
_NO_MATCH: Final = Count.NO_MATCH.value


class Forwarder:
    """The forwarding part of one broker; its packets are identified by `broker_id` and `epoch`."""

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        encoder: Encoder,
        routing_key: RoutingKey,
        clients: ClientSessions,
        routing: RoutingDatabase,
        packets_remembered_max: int,
        counters: Counters,
        out: OutputQueue,
        *,
        records_decisions: bool = False,
    ) -> None:
        self._broker_id = broker_id
        self._epoch = epoch
        self._last_counter = 0
        self._encoder = encoder
        self._routing_key = routing_key
        self._clients = clients
        self._routing = routing
        self.duplicate_filter = DuplicateFilter(packets_remembered_max)
        self._counters = counters
        self._out = out
        self._records_decisions = records_decisions

    def on_pub(self, pub: Pub, via: Port, now: Instant) -> None:  # noqa: ARG002
        """Forwards a message of a client; it is encoded here and at no other broker."""
        counters = self._counters
        carried, traffic = pub.carried, pub.traffic
        if traffic is _DATA:
            message = self._routing_key.message(carried.frame)
            bits = self._encoder.message_bits(message)
            # A publisher that subscribes to its own messages gets them.
            local_ports = self._clients.matching(message)
        else:
            bits = self._routing_key.request_bits(carried.frame)
            # A request is for other endpoints, so it does not return to the requester.
            local_ports = [port for port in self._clients.serving_requests(bits) if port != via]
        counters[_PUBLISHED] += 1
        if self._records_decisions:
            self._record("entered", None, carried)
        origins = self._routing.adverts[traffic].brokers_wanting(bits)
        if not local_ports and not origins:
            counters[_FILTERED] += 1
            if self._records_decisions:
                self._record("filtered", None, carried)
            return
        self._notify(local_ports, carried)
        groups, unreachable = group_by_port(origins, self._routing.ports())
        # All copies and list parts share one id; they differ in their destinations.
        packet_id = self._next_id() if groups else None
        if unreachable:
            self._drop("no_route", unreachable, packet_id, carried)
        if packet_id is None:
            return
        for port, destinations in groups.items():
            for part in split_to_fit(destinations, carried):
                self._forward(
                    port,
                    Packet(id=packet_id, traffic=traffic, destinations=part, carried=carried),
                )

    def on_packet(self, packet: Packet, via: Port, now: Instant) -> None:  # noqa: ARG002
        """Handles a copy for our clients, for brokers behind us, or both."""
        carried = packet.carried
        destinations = self.duplicate_filter.unseen(packet.id, packet.destinations)
        if not destinations or packet.id.origin == self._broker_id:
            self._drop("duplicate", 1, packet.id, carried)
            return
        if self._broker_id in destinations:
            self._deliver(packet)
            destinations = tuple([broker for broker in destinations if broker != self._broker_id])
            if not destinations:
                return
        if packet.ttl <= 1:
            self._drop("ttl", len(destinations), packet.id, carried)
            return
        ports = self._routing.ports()
        port = common_port(destinations, ports)
        if port is not None:
            self._forward(port, packet.relayed(destinations))
            return
        groups, unreachable = group_by_port(destinations, ports)
        if unreachable:
            self._drop("no_route", unreachable, packet.id, carried)
        for port, group in groups.items():
            self._forward(port, packet.relayed(tuple(group)))

    def _deliver(self, packet: Packet) -> None:
        frame = packet.carried.frame
        if packet.traffic is _DATA:
            ports = self._clients.matching(self._routing_key.message(frame))
        else:
            ports = self._clients.serving_requests(self._routing_key.request_bits(frame))
        if not ports:
            self._counters[_NO_MATCH] += 1
            if self._records_decisions:
                self._record("no_match", packet.id, packet.carried)
        carried = (
            mark_carried_frame(packet.carried)
            if packet.congestion_experienced and ports
            else packet.carried
        )
        self._notify(ports, carried, packet.id)

    def _notify(
        self, ports: list[Port], carried: CarriedFrame, packet_id: PacketId | None = None
    ) -> None:
        if ports:
            self._counters[_DELIVERED] += len(ports)
            if self._records_decisions:
                for port in ports:
                    self._record("handed_over", packet_id, carried, port)
            self._out.flood(ports, [Notify(carried=carried)])

    def _forward(self, port: Port, packet: Packet) -> None:
        self._counters[_FORWARDED] += 1
        if self._records_decisions:
            self._record("forwarded", packet.id, packet.carried, port)
        self._out.send(port, packet)

    def _drop(
        self,
        reason: RoutingDropReason,
        count: int,
        packet_id: PacketId | None,
        carried: CarriedFrame,
    ) -> None:
        """Counts and records a drop; counters and decisions use the same names of reasons."""
        self._counters[reason] += count
        if self._records_decisions:
            self._record("dropped", packet_id, carried, None, reason)

    def _record(
        self,
        action: RoutingAction,
        packet_id: PacketId | None,
        carried: CarriedFrame,
        towards: Port | None = None,
        reason: RoutingDropReason | None = None,
    ) -> None:
        self._out.record(RoutingDecision(action, packet_id, carried.frame, towards, reason))

    def _next_id(self) -> PacketId:
        self._last_counter = PACKET.next(self._last_counter)
        return PacketId(self._broker_id, self._epoch, self._last_counter)
