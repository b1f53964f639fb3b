"""Routers that forward by filters alone, one packet after the other: the slow twin."""

from __future__ import annotations

from collections import Counter

from penstock.bloomcast.controller.network import DirectedLink, Network
from penstock.bloomcast.filters.link_tags import tags
from penstock.wire.frames.cast.topology import PortKind


def crossed(
    network: Network, start: int, links: int, choice: int, *, hops: int, epoch: int = 0
) -> tuple[Counter[DirectedLink], set[int]]:
    """How often each link is crossed by a packet of `start`, and which nodes it comes to."""
    count: Counter[DirectedLink] = Counter()
    reached: set[int] = set()
    # Where a packet is, the port it came by, and its hops left.
    packets: list[tuple[int, int | None, int]] = [(start, None, hops)]
    while packets:
        node, via, left = packets.pop()
        if not left:
            continue
        for port, each in network.exits.get(node, {}).items():
            tag = tags(each.secret, epoch)[choice]
            if port == via or links & tag != tag:
                continue
            count[DirectedLink(node, port)] += 1
            for there in each.reaches:
                reached.add(there)
                if network.is_router[there]:
                    back = network.ways[there][node]
                    is_lan = back.kind is PortKind.LAN
                    packets.append((there, None if is_lan else back.port, left - 1))
    return count, reached
