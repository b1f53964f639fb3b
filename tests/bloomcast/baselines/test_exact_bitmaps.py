"""Repairs to exactly those who need them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.bloomcast.baselines.bounds import publisher_only_bound
from penstock.bloomcast.baselines.exact_bitmaps import exact_bitmaps
from penstock.bloomcast.baselines.loss_tree import LossTree
from tests.bloomcast.baselines.trees import drawn_tree


@pytest.mark.parametrize("seed", range(30))
def test_without_further_losses_it_takes_what_the_bound_says(seed: int) -> None:
    tree = replace(drawn_tree(seed), loss=0)
    bound = publisher_only_bound(tree)
    found = exact_bitmaps(tree, Random(seed))
    assert found.repair_crossings == bound.links
    # A node that transmits to several at once does so for the worst of them.
    assert found.repair_nodes == bound.nodes
    # One report with needs, one of having all.
    expected = [tree.hops[node] * (2 if tree.missed_by(node) else 1) for node in tree.subscribers]
    assert found.report_crossings == sum(expected)


def test_what_is_lost_of_repairs_is_sent_again() -> None:
    everything = (1 << 3_000) - 1
    tree = LossTree(
        root=0, parents={1: 0, 2: 1}, subscribers=(2,), missed={1: 0, 2: everything}, loss=0.1
    )
    found = exact_bitmaps(tree, Random(1))
    assert found.repair_crossings == pytest.approx(3_000 * 1.9 / 0.81, rel=0.05)
    assert found.repair_nodes == found.repair_crossings
    assert found.report_crossings > 2 * 3
