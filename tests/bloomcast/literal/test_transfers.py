"""Whole transfers as the paper prints them, in small worlds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bloomcast.facts import TransferFinished
from penstock.bloomcast.machines import with_bfs_relays
from penstock.bloomcast.settings import CastSettings, Variant
from penstock.kernel.instant import SECOND
from penstock.sim.cast.cast_network import CastNetwork
from tests.sim.cast.scenes import ITEM, cast, complete, one_router

SUBSCRIBERS = ["one", "other"]


def literal() -> CastSettings:
    settings = with_bfs_relays(replace(CastSettings(), variant=Variant.LITERAL))
    return replace(
        settings,
        publisher=replace(settings.publisher, rate_bps=10_000_000),
        literal=replace(settings.literal, hops=2),
    )


def crossings(network: CastNetwork, sender: str, name: str) -> dict[int, int]:
    """By generation."""
    found: dict[int, int] = {}
    for (node, _, kind), count in network.crossings.datagrams.items():
        if node == sender and kind.name == name:
            found[kind.generation] = found.get(kind.generation, 0) + count
    return found


@pytest.mark.parametrize("loss", [0.0, 0.02, 0.2])
def test_everybody_has_the_object_in_the_end(loss: float) -> None:
    network = one_router(1, loss=loss, settings=literal())
    cast(network, SUBSCRIBERS, length_bytes=500 * 1_280, for_ns=60 * SECOND)
    assert complete(network) == SUBSCRIBERS
    [(_, finished)] = network.nodes["publisher"].told(TransferFinished)
    assert finished == TransferFinished(ITEM, 2, ())
    assert network.crossings.total("UpUnsubscribe") >= 2


def test_without_losses_nobody_says_anything() -> None:
    network = one_router(1, loss=0, settings=literal())
    cast(network, SUBSCRIBERS)
    assert network.crossings.total("Report") == network.crossings.total("Repair") == 0
    # All have left before the next generation would begin.
    assert crossings(network, "publisher", "First") == {0: 3}


def test_each_lost_packet_is_one_nak_and_the_union_is_sent_again() -> None:
    network = one_router(2, loss=0.02, settings=literal())
    cast(network, SUBSCRIBERS, for_ns=60 * SECOND)
    assert complete(network) == SUBSCRIBERS
    naks = [crossings(network, name, "Report")[0] for name in SUBSCRIBERS]
    repairs = crossings(network, "publisher", "Repair")
    assert max(naks) < repairs[1] <= sum(naks)
    # Both share one filter: what one has missed goes to both.
    assert crossings(network, "router", "Repair")[1] > 1.9 * repairs[1]
    assert repairs[2] < 0.2 * repairs[1]
