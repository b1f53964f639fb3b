"""Bitmaps in packets that name receivers exactly, as BIER has them: no false crossings, no relays.

Repairs are coded and narrowed as in the default, without its margin. Every subscriber reports to
the publisher itself: to each round until it has all, and then once more. A computation over what
each has missed; losses of repairs are drawn anew, reports arrive.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.coding.base import RandomSource


@dataclass(frozen=True, slots=True)
class ExactBitmaps:
    """Links that reports and repairs cross, and repairs times nodes that transmit them."""

    report_crossings: int
    repair_crossings: int
    repair_nodes: int


def exact_bitmaps(tree: LossTree, rng: RandomSource) -> ExactBitmaps:
    """Round by round, until all have enough."""
    needs = {node: tree.missed_by(node) for node in tree.subscribers}
    reports = sum(tree.hops[node] for node in needs)
    crossings = transmissions = 0
    while needs := {node: need for node, need in needs.items() if need}:
        reports += sum(tree.hops[node] for node in needs)
        left = dict(needs)
        for place in range(max(needs.values())):
            wanted = [node for node, need in needs.items() if need > place]
            reached, links, nodes = _send(tree, wanted, rng)
            crossings += links
            transmissions += nodes
            for node in wanted:
                left[node] -= node in reached
        needs = left
    return ExactBitmaps(reports, crossings, transmissions)


def _send(tree: LossTree, wanted: list[int], rng: RandomSource) -> tuple[dict[int, None], int, int]:
    """Whom one packet reaches, the links that it crosses, and the nodes that transmit it."""
    needed = dict.fromkeys(wanted)
    for end in wanted:
        node = tree.parents[end]
        while node != tree.root and node not in needed:
            needed[node] = None
            node = tree.parents[node]
    reached: dict[int, None] = {tree.root: None}
    senders: dict[int, None] = {}
    links = 0
    for node, parent in tree.parents.items():
        if node in needed and parent in reached:
            senders[parent] = None
            links += 1
            if rng.random() >= tree.loss:
                reached[node] = None
    return reached, links, len(senders)
