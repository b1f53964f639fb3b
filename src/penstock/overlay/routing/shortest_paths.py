"""Shortest paths over what brokers say of their links.

Of equally short paths the one with the lowest next broker is taken, at every
broker. Paths from one broker then form a tree: two that meet share all that
lies before, so a message crosses each link once at most.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from penstock.wire.frames.lsa import Lsa


def next_hops(broker_id: int, database: Mapping[int, Lsa]) -> dict[int, int]:
    """For every broker that can be reached from `me`, the neighbour to send to.

    A link counts when both ends name it: what only one believes in does not
    carry anything. It counts at least 1, so that every hop leads nearer.
    """
    edges = {
        origin: {neighbour.broker: max(1, neighbour.cost) for neighbour in lsa.neighbours}
        for origin, lsa in database.items()
    }
    hops: dict[int, int] = {}
    # (distance, next hop, broker): the order of the heap is the order of preference.
    heap: list[tuple[int, int, int]] = [(0, broker_id, broker_id)]
    while heap:
        distance, hop, broker = heappop(heap)
        if broker in hops:
            continue
        hops[broker] = hop
        for neighbour, cost in edges.get(broker, {}).items():
            if neighbour not in hops and broker in edges.get(neighbour, ()):
                heappush(
                    heap, (distance + cost, neighbour if broker == broker_id else hop, neighbour)
                )
    del hops[broker_id]
    return hops
