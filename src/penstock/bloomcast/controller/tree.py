"""The shortest-path tree from one node to those that are to be reached.

Of equally cheap ways to a node the one over the lowest id is taken, so that the tree depends on the
network alone; what joins or leaves changes no other path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from penstock.bloomcast.controller.network import DirectedLink, Network
from penstock.wire.frames.cast.topology import PortKind


class Step(NamedTuple):
    """How the tree gets to a node."""

    node: int
    down: DirectedLink
    up: DirectedLink
    is_lan: bool

    @property
    def parent(self) -> int:
        """The node before it."""
        return self.down.node


class Branch(NamedTuple):
    """A link of the tree, and the nodes of the tree at its end: several on a LAN."""

    link: DirectedLink
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """The paths from `root` to `ends`."""

    root: int
    # Ascending; the root is none.
    ends: tuple[int, ...]
    unreachable: tuple[int, ...]
    # By node, parents before their children.
    steps: Mapping[int, Step]
    # By node, in ascending order of the nodes that they lead to.
    branches: Mapping[int, tuple[Branch, ...]]

    def path(self, head: int, end: int) -> list[Step]:
        """The steps from a node of the tree to one below it."""
        steps = []
        while end != head:
            step = self.steps[end]
            steps.append(step)
            end = step.parent
        return steps[::-1]


def shortest_path_tree(network: Network, root: int, ends: Iterable[int]) -> Tree:
    """Hosts are ends or the root, never on the way: they forward nothing."""
    wanted = sorted(dict.fromkeys(end for end in ends if end != root))
    parents = _parents(network, root, wanted)
    reached = tuple(end for end in wanted if end in parents)
    on_path: dict[int, None] = {}
    for end in reached:
        node = end
        while node != root and node not in on_path:
            on_path[node] = None
            node = parents[node]
    # Parents come in the order in which the search settled them.
    steps = {node: _step(network, parents[node], node) for node in parents if node in on_path}
    return Tree(
        root=root,
        ends=reached,
        unreachable=tuple(end for end in wanted if end not in parents),
        steps=steps,
        branches=_branches(steps),
    )


def _parents(network: Network, root: int, wanted: list[int]) -> dict[int, int]:
    """The parent of each node up to the farthest that is wanted, nearest first."""
    parents: dict[int, int] = {}
    best: dict[int, tuple[int, int]] = {root: (0, root)}
    # (distance, node)
    heap: list[tuple[int, int]] = [(0, root)]
    left = dict.fromkeys(wanted)
    ways, is_router = network.ways, network.is_router
    while heap and left:
        distance, node = heappop(heap)
        offer = best[node]
        if node in parents or distance > offer[0]:
            continue
        parents[node] = offer[1]
        left.pop(node, None)
        if node != root and not is_router[node]:
            continue
        for neighbour, way in ways.get(node, {}).items():
            # Cheaper, or as cheap over a lower id; costs are positive, so a node that is settled
            # has had all its offers.
            offer = (distance + way.cost, node)
            known = best.get(neighbour)
            if known is None or offer < known:
                best[neighbour] = offer
                if known is None or offer[0] < known[0]:
                    heappush(heap, (offer[0], neighbour))
    parents.pop(root, None)
    return parents


def _step(network: Network, parent: int, node: int) -> Step:
    way, back = network.ways[parent][node], network.ways[node][parent]
    return Step(
        node=node,
        down=DirectedLink(parent, way.port),
        up=DirectedLink(node, back.port),
        is_lan=way.kind is PortKind.LAN,
    )


def _branches(steps: Mapping[int, Step]) -> dict[int, tuple[Branch, ...]]:
    found: dict[int, dict[DirectedLink, list[Step]]] = {}
    for node in sorted(steps):
        step = steps[node]
        found.setdefault(step.parent, {}).setdefault(step.down, []).append(step)
    return {
        node: tuple(Branch(link, tuple(reached)) for link, reached in links.items())
        for node, links in found.items()
    }
