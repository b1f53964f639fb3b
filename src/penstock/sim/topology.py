"""Network topologies as values, and functions that make common shapes.

Each function gives the same topology for the same arguments and seed; on impossible arguments
it raises `UsageError` with the possible ones. Nodes are B1, B2, … unless a shape has names of
its own. Knows nothing of hosts; an edge may carry the spec of its link.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from random import Random

from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from penstock.sim.link_spec import LinkSpec


@dataclass(frozen=True, slots=True)
class Edge:
    """A link in each direction between two nodes; with None, the world's default spec holds."""

    one: str
    other: str
    spec: LinkSpec | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes in order and the edges between them; the graph is connected."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if not self.nodes:
            raise UsageError("a topology needs at least one node")
        known, seen = set(self.nodes), set()
        if len(known) < len(self.nodes):
            raise UsageError("two nodes bear the same name: give each its own")
        for edge in self.edges:
            for node in (edge.one, edge.other):
                if node not in known:
                    raise UsageError(f"edge {edge.one}-{edge.other}: there is no node {node!r}")
            pair = frozenset((edge.one, edge.other))
            if len(pair) == 1:
                raise UsageError(f"edge {edge.one}-{edge.other} leads back to where it starts")
            if pair in seen:
                raise UsageError(f"edge {edge.one}-{edge.other} is there twice: leave one out")
            seen.add(pair)
        reached = self.distances(self.nodes[0])
        cut_off = [node for node in self.nodes if node not in reached]
        if cut_off:
            raise UsageError(
                f"no path leads from {self.nodes[0]} to {', '.join(cut_off[:5])}: add an edge"
            )

    def neighbours(self) -> dict[str, list[str]]:
        """The neighbours of each node, in the order of the edges."""
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.one].append(edge.other)
            found[edge.other].append(edge.one)
        return found

    def distances(self, source: str) -> dict[str, int]:
        """Hops from `source` to every reachable node."""
        neighbours = self.neighbours()
        found = {source: 0}
        frontier = deque([source])
        while frontier:
            node = frontier.popleft()
            for neighbour in neighbours[node]:
                if neighbour not in found:
                    found[neighbour] = found[node] + 1
                    frontier.append(neighbour)
        return found

    @property
    def diameter(self) -> int:
        """The longest of all shortest paths, in hops."""
        return max(max(self.distances(node).values()) for node in self.nodes)

    @property
    def degree(self) -> int:
        """The highest number of neighbours of any node."""
        return max(map(len, self.neighbours().values()))


def line(size: int) -> Topology:
    """A line of nodes: B1–B2–…"""
    _check_at_least(size, 1, "a line")
    return _numbered(size, [(i, i + 1) for i in range(size - 1)])


def star(size: int) -> Topology:
    """A star with B1 at its centre."""
    _check_at_least(size, 1, "a star")
    return _numbered(size, [(0, i) for i in range(1, size)])


def dumbbell(pairs: int) -> Topology:
    """Senders S1, S2, … on the router L, receivers D1, D2, … on R; L–R is the bottleneck."""
    _check_at_least(pairs, 1, "a dumbbell", "pair")
    numbers = range(1, pairs + 1)
    senders = [f"S{i}" for i in numbers]
    receivers = [f"D{i}" for i in numbers]
    return Topology(
        ("L", "R", *senders, *receivers),
        (
            Edge("L", "R"),
            *(Edge(sender, "L") for sender in senders),
            *(Edge("R", receiver) for receiver in receivers),
        ),
    )


def tree(size: int, diameter: int, seeds: Seeds, *, degree_max: int | None = None) -> Topology:
    """A random tree of exactly that size and diameter, with at most `degree_max` neighbours a node.

    1. A spine of diameter + 1 nodes makes the diameter at least the one requested.
    2. Each further node is attached to a random node that has room. A spine node at distance e
       from the nearer end may carry branches e deep: deeper ones would increase the diameter,
       and a lower limit would exclude some trees.
    """
    _check_tree(size, diameter, degree_max)
    rng = seeds.rng("topology", "tree")
    edges = [(i, i + 1) for i in range(diameter)]
    depth_left = [min(i, diameter - i) for i in range(diameter + 1)]
    degree = [(i > 0) + (i < diameter) for i in range(diameter + 1)]
    bound = degree_max if degree_max is not None else size
    attachable = [i for i in range(diameter + 1) if depth_left[i] and degree[i] < bound]
    for node in range(diameter + 1, size):
        parent = rng.choice(attachable)
        edges.append((parent, node))
        depth_left.append(depth_left[parent] - 1)
        degree.append(1)
        degree[parent] += 1
        if degree[parent] >= bound:
            attachable.remove(parent)
        if depth_left[node]:
            attachable.append(node)
    return _numbered(size, edges)


def scale_free(size: int, seeds: Seeds, *, edges_per_node: int = 2) -> Topology:
    """Preferential attachment: each new node joins others in proportion to their degree."""
    if not 1 <= edges_per_node < size:
        raise UsageError(
            f"a scale-free network of {size} nodes cannot add {edges_per_node} edges per node: "
            f"write 1 to {size - 1}"
        )
    rng = seeds.rng("topology", "scale-free")
    # A star to start with, so that every node has a degree.
    edges = [(0, i) for i in range(1, edges_per_node + 1)]
    # Each node is listed once per edge: a uniform draw from this list is a draw by degree.
    ends = [end for edge in edges for end in edge]
    for node in range(edges_per_node + 1, size):
        # A dictionary keeps the order of the draws; a set does not.
        chosen: dict[int, None] = {}
        while len(chosen) < edges_per_node:
            chosen[rng.choice(ends)] = None
        for other in chosen:
            edges.append((other, node))
            ends += (other, node)
    return _numbered(size, edges)


def mesh(size: int, edge_count: int, seeds: Seeds) -> Topology:
    """A random connected network: a random tree, then further edges drawn uniformly."""
    _check_at_least(size, 1, "a mesh")
    edges_max = size * (size - 1) // 2
    if not size - 1 <= edge_count <= edges_max:
        raise UsageError(
            f"{size} nodes cannot be connected by {edge_count} edges:"
            f" write {size - 1} to {edges_max}"
        )
    rng = seeds.rng("topology", "mesh")
    order = list(range(size))
    rng.shuffle(order)
    edges = [_sorted(order[rng.randrange(i)], order[i]) for i in range(1, size)]
    return _numbered(size, edges + _additional_edges(size, edges, edge_count - len(edges), rng))


def _additional_edges(
    size: int, edges: list[tuple[int, int]], count: int, rng: Random
) -> list[tuple[int, int]]:
    taken = set(edges)
    free = [(i, j) for i in range(size) for j in range(i + 1, size) if (i, j) not in taken]
    return rng.sample(free, count)


def _check_tree(size: int, diameter: int, degree_max: int | None) -> None:
    _check_at_least(size, 1, "a tree")
    if degree_max is not None and degree_max < 2:
        raise UsageError(f"nodes with {degree_max} neighbours make no tree: write 2 or more")
    possible = [d for d in range(size) if size <= _tree_size_max(d, degree_max)]
    if diameter in possible:
        return
    with_degree = "" if degree_max is None else f" with at most {degree_max} neighbours a node"
    span = f"{possible[0]}" if len(possible) == 1 else f"{possible[0]} to {possible[-1]}"
    raise UsageError(
        f"there is no tree of {size} nodes{with_degree} and diameter {diameter}: write {span}"
    )


def _tree_size_max(diameter: int, degree_max: int | None) -> float:
    """The size of a full tree: rings around the middle node or the middle edge."""
    if diameter < 2:
        return diameter + 1
    if degree_max is None:
        return inf
    ring, total = (degree_max, 1) if diameter % 2 == 0 else (2 * (degree_max - 1), 2)
    for _ in range(diameter // 2):
        total += ring
        ring *= degree_max - 1
    return total


def _numbered(size: int, edges: list[tuple[int, int]]) -> Topology:
    return Topology(
        tuple(f"B{i + 1}" for i in range(size)),
        tuple(Edge(f"B{i + 1}", f"B{j + 1}") for i, j in edges),
    )


def _sorted(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)


def _check_at_least(size: int, least: int, what: str, of: str = "node") -> None:
    if size < least:
        raise UsageError(f"{what} needs at least {least} {of}, not {size}")
