"""Who is where in an experiment of paper 004, and the tree that follows from it."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.network import network_of
from penstock.bloomcast.controller.tree import Tree, shortest_path_tree
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.paper_scene import PaperScene
from penstock.sim.topology import scale_free
from penstock.wire.frames.cast.base import SECRET_BYTES
from penstock.wire.frames.cast.topology import CastRole, PortKind, PortState

PUBLISHER: Final = "publisher"
_CONTROLLER: Final = CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY


class PaperPlaces:
    """Nodes by name; the first one is the controller."""

    def __init__(self, scene: PaperScene) -> None:
        graph_seed = scene.seed if scene.graph_seed is None else scene.graph_seed
        graph = scale_free(scene.routers, Seeds(graph_seed))
        places = Seeds(graph_seed).rng("places")
        self.subscribers: Final = [f"host{i}" for i in range(scene.subscribers)]
        at = {name: places.choice(graph.nodes) for name in self.subscribers}
        at[PUBLISHER] = Seeds(scene.seed).rng("place of the publisher").choice(graph.nodes)
        self.links: Final = [(edge.one, edge.other) for edge in graph.edges] + list(at.items())
        self.controller: Final = graph.nodes[0]
        self.roles: Final[dict[str, CastRole]] = dict.fromkeys(graph.nodes, CastRole.ROUTER)
        self.roles[self.controller] = _CONTROLLER
        self.roles.update(dict.fromkeys(at, CastRole(0)))
        self.numbers: Final = {name: place + 1 for place, name in enumerate(self.roles)}
        self.names: Final = {number: name for name, number in self.numbers.items()}
        self.tree: Final = self._find_tree()
        # From the publisher to each subscriber.
        self.hops: Final = [len(self.tree.path(self.tree.root, end)) for end in self.tree.ends]

    def _find_tree(self) -> Tree:
        """As the controller finds it: trees do not depend on secrets, nor on numbers of ports."""
        ports: dict[str, list[PortState]] = {name: [] for name in self.roles}
        for link in self.links:
            for one, other in (link, link[::-1]):
                state = PortState(
                    port=len(ports[one]),
                    kind=PortKind.POINT_TO_POINT,
                    neighbour=self.numbers[other],
                    secret=bytes(SECRET_BYTES),
                )
                ports[one].append(state)
        network = network_of(
            (self.numbers[name], roles, tuple(ports[name])) for name, roles in self.roles.items()
        )
        ends = [self.numbers[name] for name in self.subscribers]
        return shortest_path_tree(network, self.numbers[PUBLISHER], ends)

    def below(self, node: int) -> int:
        """How many subscribers a node is on the way to."""
        return sum(self._leads_to(node, end) for end in self.tree.ends)

    def _leads_to(self, node: int, end: int) -> bool:
        while end != self.tree.root:
            end = self.tree.steps[end].parent
            if end == node:
                return True
        return False
