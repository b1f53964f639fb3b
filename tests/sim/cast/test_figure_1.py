"""Figure 1 of paper 004: RP1 by the links {0, 1}, RP2 by {0, 2}, three subscribers, trees MT1–MT3.

      Pub
       |  link 0
       R
link 1 / \\ link 2
    RP1   RP2
    / \\     |
  S1   S2   S3
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bloomcast.controller import planner
from penstock.bloomcast.controller.draft import FilterLimits
from penstock.bloomcast.controller.planner import RelayChoice
from penstock.bloomcast.filters.packet_filter import ONES_MAX
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.cast_applications import ReceivingProgram, SendingProgram, offer_of
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.swarm.cast import CONTROLLER, ITEM
from penstock.wire.frames.cast.topology import CastRole

LINKS = (("Pub", "R"), ("R", "RP1"), ("R", "RP2"), ("RP1", "S1"), ("RP1", "S2"), ("RP2", "S3"))


def figure(loss: float, monkeypatch: pytest.MonkeyPatch) -> tuple[CastNetwork, SendingProgram]:
    # Three links fit into a filter, five do not: the paper's networks are larger, its filters too.
    limits = FilterLimits(ones_max=15, up_ones_max=ONES_MAX)
    monkeypatch.setattr(planner, "LITERAL_LIMITS", limits)
    settings = CastSettings()
    settings = replace(
        settings,
        controller=replace(settings.controller, relay_choice=RelayChoice.BFS),
        rate=replace(settings.rate, is_controlled=False),
    )
    network = CastNetwork(Seeds(1), settings=settings, loss=loss)
    network.add_node("R", CONTROLLER)
    for name in ("RP1", "RP2"):
        network.add_node(name, CastRole.ROUTER)
    for name in ("Pub", "S1", "S2", "S3"):
        network.add_node(name)
    for one, other in LINKS:
        network.connect(one, other)
    network.run(2 * SECOND)
    offer = offer_of(ITEM, symbols=300, block_symbols=100, manifest_symbols=1, receivers=3)
    sender = SendingProgram(network, "Pub", offer)
    sender.publish()
    return network, sender


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_three_trees_bring_the_object_to_three_subscribers(
    loss: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, sender = figure(loss, monkeypatch)
    receivers = [ReceivingProgram(network, name, ITEM) for name in ("S1", "S2", "S3")]
    for receiver in receivers:
        receiver.subscribe()
    plan = None
    while plan is None:
        network.run(SECOND // 100)
        plan = network.nodes["R"].machine.plan_of(ITEM)
    names = {node.number: name for name, node in network.nodes.items()}
    trees = {
        names[segment.head]: (
            {names[link.node] for link in segment.links},
            {names[end.node] for end in segment.ends},
        )
        for segment in plan.segments.values()
    }
    assert trees == {
        "Pub": ({"Pub", "R"}, {"RP1", "RP2"}),
        "RP1": ({"RP1"}, {"S1", "S2"}),
        "RP2": ({"RP2"}, {"S3"}),
    }
    network.run(30 * SECOND)
    assert all(receiver.is_complete for receiver in receivers)
    assert [(fact.done, fact.failed) for _, fact in sender.finished] == [(3, ())]
    # Subscribers report to their relay points alone, and these report for them.
    reports = network.crossings.datagrams
    by_node = {
        node for (node, _, kind), count in reports.items() if kind.name == "Report" and count
    }
    assert by_node == {"S1", "S2", "S3", "RP1", "RP2", "R"}
    passed_on = sum(
        count
        for (node, port, kind), count in reports.items()
        if kind.name == "Report" and (node, port) == ("R", "Pub")
    )
    told = sum(
        count
        for (node, _, kind), count in reports.items()
        if kind.name == "Report" and node in ("S1", "S2", "S3")
    )
    assert passed_on < told
