"""Recently forwarded packets with their destinations.

Destinations are stored with each id because, while routes change, two copies with different
destinations may reach a broker by different paths, and neither is a duplicate.
"""

from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.packet import PacketId


class DuplicateFilter:
    """The last `packets_max` packet ids; the least recently used is evicted first."""

    __slots__ = ("_destinations",)

    def __init__(self, packets_max: int) -> None:
        self._destinations: BoundedDict[PacketId, tuple[int, ...]] = BoundedDict(
            packets_max, recent=True
        )

    def __len__(self) -> int:
        return len(self._destinations)

    def unseen(self, packet_id: PacketId, destinations: tuple[int, ...]) -> tuple[int, ...]:
        """The destinations for which this packet was not seen before."""
        known = self._destinations.get(packet_id)
        if known is None:
            self._destinations[packet_id] = destinations
            return destinations
        unseen = tuple([broker for broker in destinations if broker not in known])
        self._destinations[packet_id] = known + unseen
        return unseen
