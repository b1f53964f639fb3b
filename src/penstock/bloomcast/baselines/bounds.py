"""What no protocol can do better, given what each node missed of the first distribution.

Each bound is a cut: what a node has missed must cross the link to it, and of `n` crossings only
`n * (1 - loss)` arrive. They are expectations: compare means over seeds, never one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.kernel.instant import SECOND, Duration


@dataclass(frozen=True, slots=True)
class RepairBound:
    """Packets times links that they cross, and packets times nodes that transmit them."""

    links: float
    nodes: float


def publisher_only_bound(tree: LossTree) -> RepairBound:
    """Only the publisher has the object; a repair packet serves whatever each has missed."""
    return _bound(tree, _worst_below(tree))


def caches_bound(tree: LossTree) -> RepairBound:
    """Every node keeps what it received."""
    return _bound(tree, {node: tree.missed_by(node) for node in tree.parents})


def uncoded_bound(tree: LossTree) -> RepairBound:
    """Only the publisher has the object, and sends again the very packets that were lost."""
    union = dict.fromkeys(tree.parents, 0)
    for node in tree.subscribers:
        union[node] |= tree.missed[node]
    for node, parent in reversed([*tree.parents.items()]):
        if parent != tree.root:
            union[parent] |= union[node]
    return _bound(tree, {node: packets.bit_count() for node, packets in union.items()})


def time_bounds_ns(
    tree: LossTree, *, packets: int, packets_per_s: float, at_once: int, link_delay_ns: Duration
) -> dict[int, Duration]:
    """By subscriber, from the first packet to its last one, at this rate of the publisher.

    So many packets leave at once; the rate counts from one such train to the next.
    """
    return {
        node: round(max(0, packets + tree.missed_by(node) - at_once) * SECOND / packets_per_s)
        + tree.hops[node] * link_delay_ns
        for node in tree.subscribers
    }


def _worst_below(tree: LossTree) -> dict[int, int]:
    worst = dict.fromkeys(tree.parents, 0)
    for node in tree.subscribers:
        worst[node] = tree.missed_by(node)
    for node, parent in reversed([*tree.parents.items()]):
        if parent != tree.root:
            worst[parent] = max(worst[parent], worst[node])
    return worst


def _bound(tree: LossTree, needed: Mapping[int, int]) -> RepairBound:
    """`needed` is, by node, how many packets must arrive there from its parent."""
    by_sender = dict.fromkeys([tree.root, *tree.parents], 0)
    for node, parent in tree.parents.items():
        by_sender[parent] = max(by_sender[parent], needed[node])
    kept = 1 - tree.loss
    return RepairBound(sum(needed.values()) / kept, sum(by_sender.values()) / kept)
