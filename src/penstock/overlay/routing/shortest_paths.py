"""Shortest paths over the link-state database.

Of equally short paths every broker takes the one with the lowest next hop. The paths from one
broker then form a tree: two paths that meet share everything before that point, so a message
crosses each link at most once.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from penstock.wire.frames.lsa import Lsa


def next_hops(broker_id: int, database: Mapping[int, Lsa]) -> dict[int, int]:
    """The next hop from `broker_id` to every reachable broker.

    A link counts only if both ends announce it. Its cost is at least 1, so that every hop reduces
    the distance.
    """
    edges = {
        origin: {neighbour.broker: max(1, neighbour.cost) for neighbour in lsa.neighbours}
        for origin, lsa in database.items()
    }
    hops: dict[int, int] = {}
    # (distance, next hop, broker): heap order is the order of preference.
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
