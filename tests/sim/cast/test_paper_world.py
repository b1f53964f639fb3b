"""The setting of paper 004, small: what is counted, and what must hold between variants."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.paper_world import PaperResult, PaperScene, PaperVariant, run_paper_scene

SMALL = PaperScene(seed=1, routers=60, subscribers=20, packets=2_000, reported_loss=0.1)
VARIANTS = list(PaperVariant)


@cache
def result(variant: PaperVariant) -> PaperResult:
    return run_paper_scene(replace(SMALL, variant=variant))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_losses_are_what_the_setting_says(variant: PaperVariant) -> None:
    """About every tenth packet is lost somewhere; each on few of the ways."""
    found = result(variant)
    assert 1 - (1 - found.link_loss) ** found.tree_links == pytest.approx(0.1)
    missed = found.unicast.naks
    assert missed == pytest.approx(20 * 2_000 * found.link_loss * 5, rel=0.4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_beats_a_bound(variant: PaperVariant) -> None:
    found = result(variant)
    bound = found.uncoded if variant is PaperVariant.LITERAL else found.publisher_only
    # One run may be luckier than the mean.
    assert found.repair_links > 0.97 * bound.links
    assert found.repair_nodes > 0.97 * bound.nodes
    assert found.time_ns > 0.99 * found.time_bound_ns
    assert found.caches.links < found.publisher_only.links < found.uncoded.links


@pytest.mark.parametrize("variant", [PaperVariant.DEFAULT, PaperVariant.BFS])
def test_the_default_is_near_the_bound(variant: PaperVariant) -> None:
    found = result(variant)
    assert found.repair_links - found.repair_false_links < 1.15 * found.publisher_only.links
    assert found.repair_nodes < 1.15 * found.publisher_only.nodes
    assert found.time_ns < found.time_bound_ns + SECOND
    assert found.needs.messages + found.done.messages < 0.2 * found.unicast.nak_crossings
    assert found.setup_ns < SECOND


def test_the_paper_sends_more_repairs_than_unicast_and_most_naks() -> None:
    literal, default = result(PaperVariant.LITERAL), result(PaperVariant.DEFAULT)
    assert literal.repair_links > 1.5 * literal.unicast.repair_crossings
    assert literal.repair_links > 3 * default.repair_links
    assert literal.needs.messages > 5 * (default.needs.messages + default.done.messages)
    assert literal.needs.messages < literal.unicast.nak_crossings
    # It waits twice after each round.
    assert literal.time_ns > default.time_ns + SECOND
    assert literal.opening.messages == literal.done.messages == 0


def test_a_nak_for_each_packet_that_each_subscriber_missed() -> None:
    literal = result(PaperVariant.LITERAL)
    missed = literal.unicast.naks
    assert missed * 0.9 < literal.by_subscribers.messages < missed * 1.2
    # 60 bytes and 4 a number; relays merge, so that the mean NAK grows on its way.
    sent = literal.by_subscribers
    assert sent.bytes == 60 * sent.messages + 4 * sent.numbers
    assert literal.to_publisher.messages < sent.messages
    assert literal.to_publisher.numbers > literal.to_publisher.messages


@pytest.mark.parametrize("variant", VARIANTS)
def test_relays_gather_feedback_for_the_publisher(variant: PaperVariant) -> None:
    found = result(variant)
    if found.relays:
        assert found.by_relays.messages < found.to_relays.messages
    assert 0 < found.to_publisher.messages < found.by_subscribers.messages
    crossings = found.needs.messages + found.done.messages
    assert crossings >= found.by_subscribers.messages + found.by_relays.messages


def test_the_paper_takes_more_relays() -> None:
    assert result(PaperVariant.LITERAL).relays > result(PaperVariant.DEFAULT).relays
    assert result(PaperVariant.LITERAL).relays == result(PaperVariant.BFS).relays


def test_without_losses_nothing_is_repaired() -> None:
    scene = replace(SMALL, packets=300, reported_loss=0.0)
    for variant in VARIANTS:
        found = run_paper_scene(replace(scene, variant=variant))
        assert found.repair_links == found.needs.messages == found.unicast.naks == 0
        # The last train is not paced: it leaves when the one before it is through.
        assert found.time_ns <= found.time_bound_ns
        assert found.time_ns > found.time_bound_ns - 2 * scene.train_symbols * MILLISECOND


def test_as_published_only_the_publisher_moves() -> None:
    scenes = [replace(SMALL, packets=200, graph_seed=7, seed=seed) for seed in (1, 3)]
    one, other = (run_paper_scene(scene) for scene in scenes)
    assert one.tree_links != other.tree_links
    assert one == run_paper_scene(scenes[0])
