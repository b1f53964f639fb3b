"""Discovery in the simulator: little is said, whatever is lost, forged or replayed."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bloomcast.controller.network import Network, network_of
from penstock.bloomcast.facts import TransferStopped
from penstock.bloomcast.participants import SENT_BY_THIS_NODE
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.swarm.cast_options import CastWorld
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.topology import CastRole
from tests.sim.cast.faulty_worlds import begin, scene
from tests.sim.cast.scenes import CONTROLLER, world


def mesh(routers: int) -> CastNetwork:
    network = world(1)
    names = [f"r{i}" for i in range(routers)]
    for name in names:
        network.add_node(name, CastRole.ROUTER if name != "r0" else CONTROLLER)
    for place, name in enumerate(names):
        for other in names[:place]:
            network.connect(name, other)
    return network


def beacon(*, controller: int, number: int, neighbour: int) -> Beacon:
    return Beacon(
        origin=Origin(neighbour, 1, 1), controller=controller, domain=bytes(8), tag_epoch=0,
        number=number, hops=0,
    )  # fmt: skip


def test_a_beacon_of_a_former_start_beside_a_genuine_one_makes_no_storm() -> None:
    network = mesh(6)
    network.run(2_500 * MILLISECOND)
    network.nodes["r0"].crash()
    network.nodes["r0"].restart()
    # The next genuine one is on its way.
    network.run(1_002 * MILLISECOND)
    before = network.crossings.total("Beacon")
    old = beacon(controller=1, number=(1 << 16) + 1, neighbour=1)
    network.nodes["r1"].arrive(old, "r0")
    network.run(200 * MILLISECOND)
    assert network.crossings.total("Beacon") - before <= 2 * 15


def test_hosts_of_a_lan_do_not_pass_up_what_they_hear() -> None:
    network = world(1)
    network.add_node("r0", CONTROLLER)
    hosts = [f"h{i}" for i in range(4)]
    for host in hosts:
        network.add_node(host)
    network.add_lan("r0", hosts)
    network.run(1_500 * MILLISECOND)
    before = network.crossings.total("UpLinkState")
    forged = beacon(controller=99, number=1, neighbour=99)
    network.nodes["r0"].arrive(forged, "lan")
    for host in hosts:
        network.nodes[host].arrive(forged, "r0")
    network.run(SECOND)
    assert network.crossings.total("UpLinkState") - before < 50


def chain(routers: int, *, loss: float) -> CastNetwork:
    network = world(3, loss=loss)
    for place in range(routers):
        network.add_node(f"r{place}", CastRole.ROUTER if place else CONTROLLER)
        if place:
            network.connect(f"r{place - 1}", f"r{place}")
    return network


@pytest.mark.parametrize("loss", [0.1, 0.2])
def test_losses_do_not_add_up_along_a_chain(loss: float) -> None:
    network = chain(9, loss=loss)
    network.run(10 * SECOND)
    away = 0
    for _ in range(120):
        network.run(500 * MILLISECOND)
        for place in range(1, 9):
            node = network.nodes[f"r{place}"].machine
            away += node._uplinks.port_to(1) is None
    # 7 to 16 and 26 to 34 of a hundred, when routers repeated nothing and waited for 3 s.
    assert away < 0.03 * 120 * 8


def test_without_losses_a_controller_that_dies_is_gone_everywhere_after_three_seconds() -> None:
    network = chain(9, loss=0)
    network.run(5_500 * MILLISECOND)
    network.nodes["r0"].crash()
    network.run(2_600 * MILLISECOND)
    assert all(
        network.nodes[f"r{place}"].machine._uplinks.port_to(1) is None for place in range(1, 9)
    )
    before = network.crossings.total("Beacon")
    network.run(5 * SECOND)
    assert network.crossings.total("Beacon") == before


def test_the_map_of_a_large_lan_is_made_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [0]

    def counted(nodes: Any) -> Network:
        made[0] += 1
        return network_of(nodes)

    monkeypatch.setattr("penstock.bloomcast.controller.topology.network_of", counted)
    network = world(1)
    network.add_node("r0", CONTROLLER)
    hosts = [f"h{i}" for i in range(100)]
    for host in hosts:
        network.add_node(host)
    network.add_lan("r0", hosts)
    network.run(1_500 * MILLISECOND)
    assert made[0] <= 4
    # Nobody had to say it twice.
    assert network.crossings.total("UpLinkState") == len(hosts)


ALONE = CastWorld(
    name="alone", routers=("r0",), links=(("h0", "r0"),), publisher="r0", receivers=("r0", "h0")
)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_subscriber_at_the_publishers_own_node_is_told(*, is_first: bool) -> None:
    swarm = scene(world=ALONE)
    own, other = swarm.receivers
    if is_first:
        own.subscribe()
    begin(swarm, without=("r0",) if is_first else ())
    told = swarm.network.nodes["r0"].told(TransferStopped)
    assert [fact for _, fact in told] == [
        TransferStopped(swarm.sender.offer.item, SENT_BY_THIS_NODE)
    ]
    swarm.network.run(5 * SECOND)
    assert other.is_complete
    assert not own.is_subscribed
