"""NAKs and repairs by unicast, counted link by link."""

from __future__ import annotations

from random import Random

import pytest

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.baselines.unicast_recovery import UnicastRecovery, unicast_recovery
from tests.bloomcast.baselines.trees import drawn_tree, path


@pytest.mark.parametrize("seed", range(20))
def test_without_further_losses_each_packet_takes_the_path_there_and_back(seed: int) -> None:
    drawn = drawn_tree(seed)
    tree = LossTree(
        root=0, parents=drawn.parents, subscribers=drawn.subscribers, missed=drawn.missed, loss=0
    )
    missed = [tree.missed[node].bit_count() for node in tree.subscribers]
    hops = [len(path(tree, node)) for node in tree.subscribers]
    crossings = sum(m * h for m, h in zip(missed, hops, strict=True))
    found = unicast_recovery(tree, Random(seed))
    assert found == UnicastRecovery(sum(missed), crossings, crossings)
    assert found.nak_bytes == 64 * crossings


def test_what_is_lost_on_the_way_is_asked_for_again() -> None:
    packets = 4_000
    everything = (1 << packets) - 1
    tree = LossTree(
        root=0, parents={1: 0, 2: 1}, subscribers=(2,), missed={1: 0, 2: everything}, loss=0.1
    )
    found = unicast_recovery(tree, Random(1))
    # NAK and repair arrive with .81 each; a NAK crosses 1.9 links, and so does a repair.
    assert found.naks / packets == pytest.approx(1 / 0.81**2, rel=0.03)
    assert found.nak_crossings / packets == pytest.approx(1.9 / 0.81**2, rel=0.03)
    assert found.repair_crossings / packets == pytest.approx(1.9 / 0.81, rel=0.03)
