"""The way from the controller to each node, for control frames."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Tree, shortest_path_tree
from penstock.bloomcast.discovery.control import Route
from penstock.bloomcast.filters.packet_filter import ONES_MAX, union
from penstock.wire.frames.cast.base import CHOICES


class Routes:
    """Found when they are first needed, in one tree; forgotten when the network changes."""

    def __init__(self, root: int) -> None:
        self._root: Final = root
        self._routes: Final[dict[int, Route | None]] = {}
        # To all nodes.
        self._tree: Tree | None = None

    def forget(self) -> None:
        """The network is another one."""
        self._routes.clear()
        self._tree = None

    def to(self, tagged: TaggedNetwork, node: int) -> Route | None:
        """The way to a node; None if it is not reached, or too far away for one filter."""
        if node not in tagged.network.ways:
            # Anybody may ask for any number: only nodes that there are have an entry.
            return None
        if node not in self._routes:
            self._routes[node] = self._find(tagged, node)
        return self._routes[node]

    def _find(self, tagged: TaggedNetwork, node: int) -> Route | None:
        if self._tree is None:
            self._tree = shortest_path_tree(tagged.network, self._root, tagged.network.ways)
        if node not in self._tree.steps:
            return None
        steps = self._tree.path(self._root, node)
        filters = [
            union(tagged.tags(step.down)[choice] for step in steps) for choice in range(CHOICES)
        ]
        choice = min(range(CHOICES), key=lambda choice: filters[choice].bit_count())
        if filters[choice].bit_count() > ONES_MAX:
            return None
        return Route(filters[choice], choice, len(steps))
