"""Which packets came by lately, and for whom.

A set of destinations is kept with each id: while routes change, two copies may
reach a broker by different ways, each for others, and neither is a duplicate.
"""

from penstock.wire.frames.packet import PacketId


class Seen:
    """The last so many packet ids, least recently used first to go."""

    __slots__ = ("_destinations", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._destinations: dict[PacketId, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._destinations)

    def fresh(self, packet: PacketId, destinations: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the destinations for which this packet did not come by before."""
        # Taken out and put back: a dictionary's order is then that of use.
        before = self._destinations.pop(packet, None)
        if before is None:
            if len(self._destinations) >= self.most:
                del self._destinations[next(iter(self._destinations))]
            self._destinations[packet] = destinations
            return destinations
        fresh = tuple([broker for broker in destinations if broker not in before])
        self._destinations[packet] = before + fresh
        return fresh
