"""Who has all says so once: END of later generations is for the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bloomcast.facts import ObjectComplete
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.cast_network import CastNetwork
from tests.sim.cast.scenes import CONTROLLER, ITEM, UNCONTROLLED, cast, complete, world


def reports(network: CastNetwork, sender: str) -> dict[int, int]:
    """By generation; that of the answer to FIRST is 0, too."""
    return {
        kind.generation: count
        for (node, _, kind), count in sorted(network.crossings.datagrams.items())
        if node == sender and kind.name == "Report"
    }


def test_a_subscriber_that_has_all_is_not_asked_again() -> None:
    network = world(4)
    network.add_node("router", CONTROLLER)
    for host in ("publisher", "lossless", "lossy"):
        network.add_node(host)
        network.connect(host, "router", loss=0.3 if host == "lossy" else 0)
    cast(network, ["lossless", "lossy"])
    assert complete(network) == ["lossless", "lossy"]
    generations = max(reports(network, "lossy"))
    assert generations >= 2
    # To FIRST, and to the first END; nothing says that this arrived, so it is repeated a few times.
    assert set(reports(network, "lossless")) == {0}
    ends = sum(
        count
        for (node, port, kind), count in network.crossings.datagrams.items()
        if (node, port, kind.name) == ("router", "lossless", "End")
    )
    assert ends == 3


@pytest.mark.parametrize("is_lan", [False, True])
def test_who_had_all_and_has_restarted_gets_all_again(is_lan: bool) -> None:
    """On a LAN nothing in the plan says that it is another start: its tags are nobody's."""
    slow = replace(UNCONTROLLED.publisher, rate_bps=500_000)
    network = world(4, settings=replace(UNCONTROLLED, publisher=slow))
    network.add_node("router", CONTROLLER)
    for host in ("publisher", "lossless", "lossy"):
        network.add_node(host)
    for host in ("publisher", "lossy"):
        network.connect(host, "router", loss=0.5 if host == "lossy" else 0)
    if is_lan:
        network.add_lan("router", ["lossless"])
    else:
        network.connect("lossless", "router")
    cast(network, ["lossless", "lossy"], for_ns=0)
    lossless = network.nodes["lossless"]
    while not lossless.told(ObjectComplete):
        network.run(10 * MILLISECOND)
    # END comes when the last train is paid for; then it reports.
    network.run(400 * MILLISECOND)
    assert not network.nodes["lossy"].told(ObjectComplete)
    lossless.crash()
    network.run(10 * MILLISECOND)
    lossless.restart()
    lossless.call(lambda node, now: node.subscribe(ITEM, now=now))
    network.run(60 * SECOND)
    assert len(lossless.told(ObjectComplete)) == 2
    assert len(network.nodes["lossy"].told(ObjectComplete)) == 1
