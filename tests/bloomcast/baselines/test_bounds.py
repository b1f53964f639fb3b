"""Bounds against what they are defined as, on small drawn trees."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.bloomcast.baselines.bounds import (
    RepairBound,
    caches_bound,
    publisher_only_bound,
    time_bounds_ns,
    uncoded_bound,
)
from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.kernel.instant import MILLISECOND, SECOND
from tests.bloomcast.baselines.trees import PACKETS, drawn_tree, path

SEEDS = range(60)


def naive_bound(tree: LossTree, needed: Callable[[int], int]) -> RepairBound:
    links = [(tree.parents[node], node) for node in tree.parents]
    worst = [
        max((needed(child) for parent, child in links if parent == node), default=0)
        for node in [tree.root, *tree.parents]
    ]
    total = sum(needed(child) for _, child in links)
    return RepairBound(total / (1 - tree.loss), sum(worst) / (1 - tree.loss))


def below(tree: LossTree, node: int) -> list[set[int]]:
    """What each subscriber at or below a node has missed."""
    return [
        {packet for packet in range(PACKETS) if tree.missed[subscriber] >> packet & 1}
        for subscriber in tree.subscribers
        if node in [child for _, child in path(tree, subscriber)]
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_bound_is_what_must_cross_the_links_of_the_tree(seed: int) -> None:
    tree = drawn_tree(seed)
    assert publisher_only_bound(tree) == naive_bound(
        tree, lambda node: max(map(len, below(tree, node)))
    )
    assert uncoded_bound(tree) == naive_bound(
        tree, lambda node: len(set().union(*below(tree, node)))
    )
    assert caches_bound(tree) == naive_bound(tree, lambda node: tree.missed[node].bit_count())


@pytest.mark.parametrize("seed", SEEDS)
def test_who_may_do_more_has_a_lower_bound(seed: int) -> None:
    tree = drawn_tree(seed)
    caches, coded, uncoded = caches_bound(tree), publisher_only_bound(tree), uncoded_bound(tree)
    assert caches.links <= coded.links <= uncoded.links
    assert caches.nodes <= coded.nodes <= uncoded.nodes
    assert coded.nodes <= coded.links


def test_a_subscriber_needs_all_packets_and_as_many_as_it_missed() -> None:
    tree = LossTree(
        root=0, parents={1: 0, 2: 1, 3: 1}, subscribers=(2, 3), missed={1: 1, 2: 7, 3: 1}, loss=0.1
    )
    delay_ns = 5 * MILLISECOND
    for at_once in (1, 4):
        bounds = time_bounds_ns(
            tree, packets=20, packets_per_s=10, at_once=at_once, link_delay_ns=delay_ns
        )
        # One of them has missed three packets, the other one.
        assert bounds[2] == (23 - at_once) * SECOND // 10 + 2 * delay_ns
        assert bounds[3] == (21 - at_once) * SECOND // 10 + 2 * delay_ns


def test_without_losses_nothing_need_be_repaired() -> None:
    tree = LossTree(root=0, parents={1: 0}, subscribers=(1,), missed={1: 0}, loss=0)
    for bound in (caches_bound(tree), publisher_only_bound(tree), uncoded_bound(tree)):
        assert bound == RepairBound(0, 0)
