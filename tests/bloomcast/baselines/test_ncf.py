"""Suppression of NAKs by NCFs."""

from __future__ import annotations

from random import Random

import pytest

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.baselines.ncf import NcfSegment, NcfSuppression, ncf_suppression
from penstock.kernel.instant import MILLISECOND

DELAY = 5 * MILLISECOND


def star(missed: dict[int, int]) -> LossTree:
    """A publisher, a router, and subscribers at it."""
    subscribers = tuple(missed)
    return LossTree(
        root=0,
        parents={1: 0, **dict.fromkeys(subscribers, 1)},
        subscribers=subscribers,
        missed={1: 0, **missed},
        loss=0.01,
    )


def test_one_loss_takes_a_nak_and_an_ncf_to_all() -> None:
    tree = star({2: 0b100, 3: 0, 4: 0})
    segment = NcfSegment(0, links=4, hops={2: 2, 3: 2, 4: 2})
    found = ncf_suppression(tree, [segment], Random(1), link_delay_ns=DELAY)
    assert found == NcfSuppression(nak_crossings=2, ncf_crossings=4)
    assert found.crossings == 6


def test_an_element_asks_for_all_below_it() -> None:
    """1 is an element: it hears its subscribers, and asks the publisher itself."""
    tree = star({2: 0b1, 3: 0b10})
    segments = [NcfSegment(0, links=1, hops={1: 1}), NcfSegment(1, links=2, hops={2: 1, 3: 1})]
    found = ncf_suppression(tree, segments, Random(1), link_delay_ns=DELAY)
    assert found == NcfSuppression(nak_crossings=2 * 2, ncf_crossings=2 * 3)


@pytest.mark.parametrize(("backoff_ns", "share"), [(0, 1.0), (1_000 * MILLISECOND, 0.3)])
def test_the_longer_all_wait_the_fewer_ask(backoff_ns: int, share: float) -> None:
    everybody = dict.fromkeys(range(2, 12), 0b1)
    tree = star(everybody)
    segment = NcfSegment(0, links=11, hops=dict.fromkeys(everybody, 2))
    found = ncf_suppression(tree, [segment], Random(2), link_delay_ns=DELAY, backoff_ns=backoff_ns)
    assert found.nak_crossings <= share * 2 * len(everybody)
    assert found.ncf_crossings == 11
    if not backoff_ns:
        assert found.nak_crossings == 2 * len(everybody)
