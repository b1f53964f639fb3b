"""Which packets came by lately, and for whom.

A set of destinations is kept with each id: while routes change, two copies may
reach a broker by different ways, each for others, and neither is a duplicate.
"""

from collections import OrderedDict

from penstock.wire.frames.packet import PacketId


class Seen:
    """The last so many packet ids, least recently used first to go."""

    __slots__ = ("_destinations", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        # Not a plain dictionary, which looks for its first among all that were there before it.
        self._destinations: OrderedDict[PacketId, tuple[int, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._destinations)

    def fresh(self, packet: PacketId, destinations: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the destinations for which this packet did not come by before."""
        before = self._destinations.get(packet)
        if before is None:
            if len(self._destinations) >= self.most:
                self._destinations.popitem(last=False)
            self._destinations[packet] = destinations
            return destinations
        self._destinations.move_to_end(packet)
        fresh = tuple([broker for broker in destinations if broker not in before])
        self._destinations[packet] = before + fresh
        return fresh
