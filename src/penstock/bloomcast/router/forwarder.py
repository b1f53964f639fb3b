"""Forwarding by the filter in the packet: no table, and nothing remembered."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.filters.packet_filter import ONES_MAX
from penstock.bloomcast.outbox import Outbox
from penstock.kernel.machine import Port
from penstock.wire.frames.cast.base import CastBody, Origin
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.topology import PortKind


class Forwarder:
    """Sends a packet out by each port whose tag is in its filter, but not where it came from."""

    __slots__ = ("_ones_max", "_out", "_ports", "refused")

    def __init__(self, out: Outbox, ports: Ports, *, ones_max: int = ONES_MAX) -> None:
        self._out: Final = out
        self._ports: Final = ports
        self._ones_max: Final = ones_max
        # Packets with too many ones.
        self.refused = 0

    def is_too_full(self, packet: Packet) -> bool:
        """Whether a packet is dropped: full filters go everywhere."""
        if packet.header.links.bit_count() <= self._ones_max:
            return False
        self.refused += 1
        return True

    def forward(self, packet: Packet, via: Port | None) -> None:
        """Sends a packet of this node's own (`via` is None), or one that arrived."""
        header = packet.header
        links = header.links
        if via is None and self.is_too_full(packet):
            return
        if via is not None:
            if header.ttl <= 1:
                return
            packet = with_header(packet, ttl=header.ttl - 1)
        choice = header.choice
        for info in self._ports:
            tag = info.tags[choice]
            # A host of a network is heard by its router alone: the others get it from there.
            if links & tag == tag and (info.port != via or info.kind is PortKind.LAN):
                self._out.send(info.port, packet)


def with_header(
    packet: Packet,
    *,
    ttl: int,
    links: int | None = None,
    choice: int | None = None,
    segment: int | None = None,
    plan: int | None = None,
    body: CastBody | None = None,
    origin: Origin | None = None,
) -> Packet:
    """The packet with what a router or relay may replace."""
    header = packet.header
    onward = Header(
        ttl=ttl,
        choice=header.choice if choice is None else choice,
        links=header.links if links is None else links,
        item=header.item,
        flags=header.flags,
        segment=header.segment if segment is None else segment,
        plan=header.plan if plan is None else plan,
        generation=header.generation,
        block=header.block,
        symbol=header.symbol,
        stamp_us=header.stamp_us,
    )
    return Packet(
        header=onward,
        body=packet.body if body is None else body,
        origin=packet.origin if origin is None else origin,
    )
