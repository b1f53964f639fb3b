"""The setting of paper 004, small: what is counted, and what must hold between variants."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.paper_scene import (
    LateSubscribers,
    PaperProtocol,
    PaperScene,
    RelayFailure,
)
from penstock.sim.cast.paper_world import PaperWorld, run_paper_scene
from penstock.trace.cast_words import CastKind, CastPart, Direction, Yardstick
from tests.sim.cast.paper_totals import FEEDBACK, PaperTotals

SMALL = PaperScene(
    seed=1,
    routers=60,
    subscribers=20,
    packets=2_000,
    stream_block_packets=600,
    reported_loss=0.1,
)
PROTOCOLS = list(PaperProtocol)


@cache
def world(protocol: PaperProtocol) -> PaperWorld:
    return run_paper_scene(replace(SMALL, protocol=protocol))


@cache
def totals(protocol: PaperProtocol) -> PaperTotals:
    return PaperTotals.of(world(protocol))


def totals_of(scene: PaperScene) -> PaperTotals:
    return PaperTotals.of(run_paper_scene(scene))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_losses_are_what_the_setting_says(protocol: PaperProtocol) -> None:
    """About every tenth packet is lost somewhere; each on few of the ways."""
    run = world(protocol)
    links = len(run.places.tree.steps)
    assert 1 - (1 - run.link_loss) ** links == pytest.approx(0.1)
    missed = sum(row.missed_packets for row in totals(protocol).transfers())
    assert missed == pytest.approx(20 * 2_000 * run.link_loss * 5, rel=0.4)


@pytest.mark.parametrize("burst", [1.0, 8.0])
def test_the_loss_of_a_path_is_what_the_setting_says(burst: float) -> None:
    scene = replace(SMALL, path_loss=0.2, reported_loss=0, burst_packets=burst)
    rows = totals_of(scene).transfers()
    assert sum(row.missed_packets for row in rows) == pytest.approx(20 * 2_000 * 0.2, rel=0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_beats_a_bound(protocol: PaperProtocol) -> None:
    found = totals(protocol)
    is_literal = protocol is PaperProtocol.LITERAL
    bound = found.yardstick(Yardstick.UNCODED if is_literal else Yardstick.PUBLISHER_ONLY)
    # One run may be luckier than the mean.
    assert bound.repair_crossings is not None
    assert bound.repair_packets is not None
    assert found.crossings(CastKind.REPAIR) > 0.97 * bound.repair_crossings
    assert found.repair_packets > 0.97 * bound.repair_packets
    assert found.time_ns > 0.99 * found.time_bound_ns
    caches, publisher_only, uncoded = (
        found.yardstick(word).repair_crossings or 0
        for word in (Yardstick.CACHES, Yardstick.PUBLISHER_ONLY, Yardstick.UNCODED)
    )
    assert 0 < caches < publisher_only < uncoded


@pytest.mark.parametrize("protocol", [PaperProtocol.DEFAULT, PaperProtocol.BFS])
def test_the_default_is_near_the_bound(protocol: PaperProtocol) -> None:
    found = totals(protocol)
    bound = found.yardstick(Yardstick.PUBLISHER_ONLY)
    unicast = found.yardstick(Yardstick.UNICAST)
    assert bound.repair_crossings is not None
    assert bound.repair_packets is not None
    assert unicast.report_crossings is not None
    assert found.crossings(CastKind.REPAIR, planned=True) < 1.15 * bound.repair_crossings
    assert found.repair_packets < 1.15 * bound.repair_packets
    assert found.time_ns < found.time_bound_ns + SECOND
    assert found.crossings(*FEEDBACK) < 0.2 * unicast.report_crossings
    first = found.transfers()[0]
    assert first.began_ns - first.asked_ns < SECOND
    assert first.ended_ns - first.began_ns == pytest.approx(2 * SECOND, rel=0.03)


def test_the_paper_sends_more_repairs_than_unicast_and_most_naks() -> None:
    literal, default = totals(PaperProtocol.LITERAL), totals(PaperProtocol.DEFAULT)
    unicast = literal.yardstick(Yardstick.UNICAST)
    assert unicast.repair_crossings is not None
    assert unicast.report_crossings is not None
    repairs = literal.crossings(CastKind.REPAIR)
    assert repairs > 1.5 * unicast.repair_crossings
    assert repairs > 3 * default.crossings(CastKind.REPAIR)
    naks = literal.crossings(CastKind.NEEDS)
    assert naks > 5 * default.crossings(*FEEDBACK)
    assert naks < unicast.report_crossings
    # It waits twice after each round.
    assert literal.time_ns > default.time_ns + SECOND
    assert literal.crossings(CastKind.READY, CastKind.DONE) == 0


def test_a_nak_for_each_packet_that_each_subscriber_missed() -> None:
    literal = totals(PaperProtocol.LITERAL)
    missed = sum(row.missed_packets for row in literal.transfers())
    messages, size_bytes, packets = literal.reports(CastPart.SUBSCRIBER, Direction.SENT)
    # Some are for packets of later rounds.
    assert missed * 0.9 < messages < missed * 1.3
    # 60 bytes and 4 a number; relays merge, so that the mean NAK grows on its way.
    assert size_bytes == 60 * messages + 4 * packets
    to_publisher = literal.reports(CastPart.PUBLISHER, Direction.RECEIVED)
    assert to_publisher[0] < messages
    assert to_publisher[2] > to_publisher[0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_relays_gather_feedback_for_the_publisher(protocol: PaperProtocol) -> None:
    found = totals(protocol)
    sent = found.reports(CastPart.SUBSCRIBER, Direction.SENT)[0]
    by_relays = found.reports(CastPart.RELAY, Direction.SENT)[0]
    if found.relays:
        assert by_relays < found.reports(CastPart.RELAY, Direction.RECEIVED)[0]
    assert 0 < found.reports(CastPart.PUBLISHER, Direction.RECEIVED)[0] < sent
    assert found.crossings(*FEEDBACK) >= sent + by_relays


def test_the_paper_takes_more_relays() -> None:
    literal, bfs, default = (
        totals(protocol).relays
        for protocol in (PaperProtocol.LITERAL, PaperProtocol.BFS, PaperProtocol.DEFAULT)
    )
    assert literal == bfs > default


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_losses_nothing_is_repaired(protocol: PaperProtocol) -> None:
    scene = replace(SMALL, packets=300, reported_loss=0.0, protocol=protocol)
    found = totals_of(scene)
    assert found.crossings(CastKind.REPAIR, CastKind.NEEDS) == 0
    assert found.yardstick(Yardstick.UNICAST).report_crossings == 0
    # The last train may be shorter than the others.
    late_ns = scene.train_symbols * MILLISECOND
    assert found.time_bound_ns <= found.time_ns <= found.time_bound_ns + late_ns


def test_as_published_only_the_publisher_moves() -> None:
    scenes = [replace(SMALL, packets=200, graph_seed=7, seed=seed) for seed in (1, 3)]
    one, other = (run_paper_scene(scene) for scene in scenes)
    assert len(one.places.tree.steps) != len(other.places.tree.steps)
    assert list(one.rows()) == list(run_paper_scene(scenes[0]).rows())


def test_those_who_join_late_get_all_of_it() -> None:
    found = totals_of(replace(SMALL, late=LateSubscribers(count=3, after=0.5)))
    rows = found.transfers()
    late = [row for row in rows if row.asked_ns > row.began_ns]
    assert len(late) == 3
    assert len(rows) == 20
    for row in late:
        # Half of it, and what is sent while they are planned for.
        assert 1_000 <= row.missed_packets < 1_400
    assert found.time_ns < 1.3 * found.time_bound_ns


def test_a_relay_that_dies_is_missed_and_replaced() -> None:
    failure = RelayFailure(after_ns=SECOND, replaced_after_ns=3 * SECOND)
    scene = replace(SMALL, protocol=PaperProtocol.BFS, failure=failure)
    found, before = totals_of(scene), totals(PaperProtocol.BFS)
    assert found.time_ns > before.time_ns
    assert found.time_ns < before.time_ns + 8 * SECOND
