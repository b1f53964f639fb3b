"""Which packets came by lately, and for whom.

A set of destinations is kept with each id: while routes change, two copies may
reach a broker by different ways, each for others, and neither is a duplicate.
"""

from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.packet import PacketId


class DuplicateFilter:
    """The last so many packet ids, least recently used first to go."""

    __slots__ = ("_destinations",)

    def __init__(self, packets_max: int) -> None:
        self._destinations: BoundedDict[PacketId, tuple[int, ...]] = BoundedDict(
            packets_max, recent=True
        )

    def __len__(self) -> int:
        return len(self._destinations)

    def unseen(self, packet_id: PacketId, destinations: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the destinations for which this packet did not come by before."""
        known = self._destinations.get(packet_id)
        if known is None:
            self._destinations[packet_id] = destinations
            return destinations
        unseen = tuple([broker for broker in destinations if broker not in known])
        self._destinations[packet_id] = known + unseen
        return unseen
