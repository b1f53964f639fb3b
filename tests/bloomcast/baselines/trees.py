"""Small drawn trees with drawn losses."""

from __future__ import annotations

from random import Random

from penstock.bloomcast.baselines.loss_tree import LossTree

PACKETS = 12


def drawn_tree(seed: int, *, loss: float = 0.2) -> LossTree:
    """Up to nine nodes; what a node misses, those below it miss too."""
    rng = Random(seed)
    parents: dict[int, int] = {}
    missed = {0: 0}
    for node in range(1, rng.randint(2, 9)):
        parent = rng.randrange(node)
        parents[node] = parent
        lost = sum(1 << packet for packet in range(PACKETS) if rng.random() < loss)
        missed[node] = missed[parent] | lost
    leaves = [node for node in parents if node not in parents.values()]
    inner = [node for node in parents if node in parents.values() and rng.random() < 0.3]
    return LossTree(
        root=0, parents=parents, subscribers=tuple(inner + leaves), missed=missed, loss=loss
    )


def path(tree: LossTree, node: int) -> list[tuple[int, int]]:
    """The links from the root to a node."""
    links = []
    while node != tree.root:
        links.append((tree.parents[node], node))
        node = tree.parents[node]
    return links[::-1]
