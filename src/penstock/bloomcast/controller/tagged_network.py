"""A network with the tags of its links in one epoch, and where a filter sends a packet in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from penstock.bloomcast.controller.network import DirectedLink, Network
from penstock.bloomcast.filters.link_tags import ByChoice, tags
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.cast.base import CHOICES
from penstock.wire.frames.cast.topology import PortKind

TAGS_MAX: Final = 16_384

# A router that a packet has come to, and by which of its ports.
_Arrival: TypeAlias = tuple[int, int]
# The tag of a port, the port, and where routers are at its other end.
_TaggedExit: TypeAlias = tuple[int, int, tuple[_Arrival, ...]]
_NO_PORT: Final = -1


class LinkTagTable:
    """Tags by secret and epoch, kept from one network to the next."""

    def __init__(self, *, tags_max: int = TAGS_MAX) -> None:
        self._tags: Final[BoundedDict[tuple[bytes, int], ByChoice]] = BoundedDict(
            tags_max, recent=True
        )

    def tags(self, secret: bytes, epoch: int) -> ByChoice:
        """The candidate tags of a link."""
        found = self._tags.use((secret, epoch))
        if found is None:
            found = self._tags[secret, epoch] = tags(secret, epoch)
        return found


class TaggedNetwork:
    """Tags are computed when they are first needed."""

    def __init__(self, network: Network, epoch: int, table: LinkTagTable | None = None) -> None:
        self.network: Final = network
        self.epoch: Final = epoch
        self._table: Final = LinkTagTable() if table is None else table
        self._tags: Final[dict[DirectedLink, ByChoice]] = {}
        self._exits: Final[list[dict[int, tuple[_TaggedExit, ...]]]] = [{} for _ in range(CHOICES)]

    def tags(self, link: DirectedLink) -> ByChoice:
        """The candidate tags of a link of this network."""
        found = self._tags.get(link)
        if found is None:
            secret = self.network.secret(link)
            found = self._tags[link] = self._table.tags(secret, self.epoch)
        return found

    def crossings(
        self,
        starts: Iterable[int],
        links: int,
        choice: int,
        *,
        hops: int,
        give_up: int | None = None,
    ) -> int:
        """How many links a packet from each start takes in all, repeated ones included.

        Routers remember no packet, so one that comes in a circle goes on until its hops end. The
        count stops once it has reached `give_up`.
        """
        missing, count = ~links, 0
        # Packets that are at the same node by the same port go the same ways from there.
        packets: dict[_Arrival, int] = {}
        for start in starts:
            packets[start, _NO_PORT] = packets.get((start, _NO_PORT), 0) + 1
        for _ in range(hops):
            arrivals: dict[_Arrival, int] = {}
            for (node, via), copies in packets.items():
                for tag, port, routers in self._exits_of(node, choice):
                    if not tag & missing and port != via:
                        count += copies
                        for arrival in routers:
                            arrivals[arrival] = arrivals.get(arrival, 0) + copies
            if not arrivals or (give_up is not None and count >= give_up):
                break
            packets = arrivals
        return count

    def _exits_of(self, node: int, choice: int) -> tuple[_TaggedExit, ...]:
        exits = self._exits[choice].get(node)
        if exits is None:
            network = self.network
            exits = self._exits[choice][node] = tuple(
                (
                    self.tags(DirectedLink(node, port))[choice],
                    port,
                    tuple(
                        (there, self._port_back(there, node))
                        for there in each.reaches
                        if network.is_router[there]
                    ),
                )
                for port, each in network.exits.get(node, {}).items()
            )
        return exits

    def _port_back(self, node: int, neighbour: int) -> int:
        """The port that a packet from a neighbour comes by."""
        way = self.network.ways[node][neighbour]
        # What a host on a LAN sends to its router may be for others on that LAN.
        return _NO_PORT if way.kind is PortKind.LAN else way.port
