"""PACKET: a transport frame in transit between brokers."""

from operator import ge
from typing import NamedTuple

from msgspec.structs import force_setattr

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import (
    OverlayFrame,
    TrafficClass,
    check_ascending,
    check_count,
    check_unsigned,
)
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.limits import DESTINATIONS_MAX, TTL_BITS, TTL_DEFAULT


class PacketId(NamedTuple):
    """Assigned by the first broker; `epoch` is new whenever it restarts. Not a `MessageId`."""

    origin: int
    epoch: int
    counter: int


class Packet(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """One copy, for the destinations behind one next hop."""

    id: PacketId
    traffic: TrafficClass
    destinations: tuple[int, ...]
    carried: CarriedFrame
    ttl: int = TTL_DEFAULT
    # Whether the packet passed through an overfull queue.
    congestion_experienced: bool = False

    def __post_init__(self) -> None:
        origin, epoch, counter = self.id
        destinations = self.destinations
        # One expression for the common case: this runs at every hop.
        if (
            origin >> 32
            or epoch >> 16
            or counter >> 32
            or self.ttl >> TTL_BITS
            or not 0 < len(destinations) <= DESTINATIONS_MAX
            or destinations[0] < 0
            or destinations[-1] >> 32
            or (len(destinations) > 1 and any(map(ge, destinations, destinations[1:])))
        ):
            self._check_fields()

    def relayed(self, destinations: tuple[int, ...]) -> "Packet":
        """The copy for some of the destinations after one hop; needs no validation."""
        relayed: Packet = self.__copy__()  # type: ignore[attr-defined]
        force_setattr(relayed, "destinations", destinations)
        force_setattr(relayed, "ttl", self.ttl - 1)
        return relayed

    def with_congestion_mark(self) -> "Packet":
        """A copy with the congestion mark."""
        marked: Packet = self.__copy__()  # type: ignore[attr-defined]
        force_setattr(marked, "congestion_experienced", True)
        return marked

    def _check_fields(self) -> None:
        check_unsigned(32, origin=self.id.origin, counter=self.id.counter)
        check_unsigned(16, epoch=self.id.epoch)
        check_unsigned(TTL_BITS, ttl=self.ttl)
        if not self.destinations:
            raise UsageError("a packet needs a destination")
        check_count("destinations", self.destinations, DESTINATIONS_MAX)
        check_ascending("destinations", self.destinations)
        check_unsigned(32, first=self.destinations[0], last=self.destinations[-1])
