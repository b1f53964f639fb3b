"""Controllers with scopes or roles of their own, and two that are responsible for the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bloomcast.facts import OfferRefused, SteppedDown
from penstock.bloomcast.item_names import item_of
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.cast_applications import ReceivingProgram, SendingProgram, offer_of
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.swarm.cast import CastSwarm
from penstock.sim.swarm.cast_controllers import Controllers
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.topology import CONTROLLER, CastRole
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene, sent
from tests.sim.cast.scenes import ITEM, UNCONTROLLED, world

TREE = BY_NAME["tree"]


def line_of(routers: int, *, rate_bps: int | None = None, **hosts: str) -> CastNetwork:
    """Routers r0, r1, …; the first is the controller. Hosts by the router that they are at."""
    publisher = replace(UNCONTROLLED.publisher, rate_bps=rate_bps)
    network = world(1, settings=replace(UNCONTROLLED, publisher=publisher))
    for at in range(routers):
        network.add_node(f"r{at}", CastRole.ROUTER | (CastRole(0) if at else CONTROLLER))
        if at:
            network.connect(f"r{at - 1}", f"r{at}")
    for host, router in hosts.items():
        network.add_node(host)
        network.connect(host, router)
    network.run(2 * SECOND)
    return network


def offers(network: CastNetwork, node: str, *, symbols: int = 50, epoch: int = 1) -> SendingProgram:
    offer = offer_of(ITEM, symbols=symbols, block_symbols=50, epoch=epoch, receivers=1)
    sender = SendingProgram(network, node, offer)
    sender.publish()
    return sender


def wants(network: CastNetwork, node: str, item: Item = ITEM) -> ReceivingProgram:
    receiver = ReceivingProgram(network, node, item)
    receiver.subscribe()
    return receiver


def all_are_complete(swarm: CastSwarm) -> bool:
    return all(receiver.is_complete for receiver in swarm.receivers)


# Scopes.


@pytest.mark.parametrize(
    ("controllers", "planner"), [(Controllers.OF_SCOPE, "r1"), (Controllers.OF_OTHER_SCOPE, "r0")]
)
def test_a_transfer_is_planned_by_the_controller_of_its_scope(
    controllers: Controllers, planner: str
) -> None:
    swarm = scene(world=TREE, controllers=controllers, loss=0.05, sending_ns=2 * SECOND)
    begin(swarm)
    swarm.network.run(SECOND)
    for name in ("r0", "r1"):
        plan = swarm.network.nodes[name].machine.plan_of(swarm.sender.offer.item)
        assert (plan is not None) is (name == planner)
    finish(swarm)
    assert all_are_complete(swarm)


# Two for the same.


def test_of_two_controllers_for_the_same_the_higher_id_steps_down_and_says_so() -> None:
    swarm = scene(world=TREE, controllers=Controllers.SAME)
    begin(swarm)
    finish(swarm)
    nodes = swarm.network.nodes
    assert all_are_complete(swarm)
    [(_, fact)] = nodes["r1"].told(SteppedDown)
    assert fact == SteppedDown(nodes["r0"].number)
    assert not nodes["r0"].told(SteppedDown)
    # It falls silent.
    beacons = sent(swarm.network, "Beacon", sender="r1", port="r0")
    swarm.network.run(5 * SECOND)
    assert sent(swarm.network, "Beacon", sender="r1", port="r0") == beacons


def test_a_running_transfer_goes_over_to_the_controller_that_stays() -> None:
    """They do not hear of each other at first, and each has hosts of its own."""
    swarm = scene(world=TREE, controllers=Controllers.SAME, symbols=400, sending_ns=6 * SECOND)
    network = swarm.network
    network.cut("r0", "r1")
    begin(swarm)
    network.run(2 * SECOND)
    assert not network.nodes["r1"].told(SteppedDown)
    network.mend("r0", "r1")
    network.run(2 * SECOND)
    assert network.nodes["r1"].told(SteppedDown)
    finish(swarm, 30 * SECOND)
    assert all_are_complete(swarm)
    assert len(swarm.sender.offers) == 1


# Roles of two nodes.


@pytest.fixture(scope="module")
def split() -> CastSwarm:
    swarm = scene(world=TREE, controllers=Controllers.SPLIT, loss=0.05, filter_ones_max=22)
    begin(swarm)
    finish(swarm)
    return swarm


def test_a_rendezvous_point_has_its_transfers_planned_elsewhere(split: CastSwarm) -> None:
    assert all_are_complete(split)
    assert [fact.failed for _, fact in split.sender.finished] == [()]
    network = split.network
    assert sent(network, "UpPlanRequest", sender="r0") > 0
    for kind in ("DownStart", "DownRelayConfig"):
        assert network.crossings.total(kind) > 0
        assert sent(network, kind, sender="r1") > 0
    # Without a map it answers by way of the node that has one.
    assert sent(network, "UpDown", sender="r0", port="r1") > 0
    assert not any(network.nodes["r0"].machine.unfinished().values())
    assert not any(network.nodes["r1"].machine.unfinished().values())


def test_one_node_with_both_roles_asks_nobody() -> None:
    swarm = scene(world=TREE, filter_ones_max=22)
    begin(swarm)
    finish(swarm)
    for kind in ("UpPlanRequest", "DownPlanReply", "UpDown"):
        assert swarm.network.crossings.total(kind) == 0


@pytest.mark.parametrize("name", ["r0", "r1"])
def test_a_transfer_outlives_a_restart_of_either(name: str) -> None:
    swarm = scene(
        world=TREE,
        controllers=Controllers.SPLIT,
        loss=0.05,
        symbols=400,
        sending_ns=4 * SECOND,
        filter_ones_max=22,
    )
    begin(swarm, without=("h2",))
    network = swarm.network
    network.run(SECOND)
    network.nodes[name].crash()
    network.run(500 * MILLISECOND)
    network.nodes[name].restart()
    network.run(500 * MILLISECOND)
    # Who comes now is known to the one that has restarted alone.
    next(receiver for receiver in swarm.receivers if receiver.node == "h2").subscribe()
    finish(swarm, 40 * SECOND)
    assert all_are_complete(swarm)
    assert len(swarm.sender.offers) == 1


def test_the_topology_manager_tells_the_rendezvous_point_who_has_restarted() -> None:
    swarm = scene(world=TREE, controllers=Controllers.SPLIT, sending_ns=4 * SECOND)
    begin(swarm)
    network = swarm.network
    network.run(SECOND)
    leaver = next(receiver for receiver in swarm.receivers if receiver.node == "h2")
    leaver.is_wanted = False
    network.nodes["h2"].crash()
    network.run(100 * MILLISECOND)
    network.nodes["h2"].restart()
    finish(swarm)
    assert sent(network, "DownPlanReply", sender="r1") > 0
    assert [(fact.done, fact.failed) for _, fact in swarm.sender.finished] == [(4, ())]


# Local items.


def test_no_router_forwards_what_is_local() -> None:
    network = line_of(2, p="r0", far="r1")
    network.connect("p", "r1")
    item = item_of("debian.img")
    network.run(SECOND)
    offer = offer_of(item, symbols=50, block_symbols=50, receivers=2)
    sender = SendingProgram(network, "p", offer)
    sender.publish()
    near, far = wants(network, "r1", item), wants(network, "far", item)
    network.run(30 * SECOND)
    assert near.is_complete
    assert not far.is_complete
    assert [fact.failed for _, fact in sender.finished] == [(network.nodes["far"].number,)]
    for router in ("r0", "r1"):
        assert sent(network, "Symbols", sender=router) == 0


# Several publishers.


def test_the_nearest_of_two_publishers_sends() -> None:
    network = line_of(3, far="r2", near="r0", host="r1")
    offers(network, "far", epoch=2)
    offers(network, "near", epoch=3)
    receiver = wants(network, "host")
    network.run(5 * SECOND)
    assert receiver.is_complete
    assert sent(network, "Symbols", sender="near") == 50
    assert sent(network, "Symbols", sender="far") == 0


def test_another_publisher_takes_over_when_the_nearest_falls_silent() -> None:
    network = line_of(3, rate_bps=16_000, far="r2", near="r0", host="r1")
    offers(network, "far", symbols=1_000, epoch=2)
    offers(network, "near", symbols=1_000, epoch=3)
    receiver = wants(network, "host")
    network.run(2 * SECOND)
    network.nodes["near"].crash()
    network.run(2 * SECOND)
    assert sent(network, "Symbols", sender="far") == 0
    was_complete = receiver.is_complete
    network.run(20 * SECOND)
    assert (was_complete, receiver.is_complete) == (False, True)
    assert sent(network, "Symbols", sender="far") > 0


def test_another_object_by_the_same_name_is_refused() -> None:
    network = line_of(2, one="r0", other="r1", host="r1")
    offers(network, "one", symbols=50)
    network.run(SECOND)
    offers(network, "other", symbols=60)
    receiver = wants(network, "host")
    network.run(5 * SECOND)
    [(_, fact)] = network.nodes["other"].told(OfferRefused)
    assert isinstance(fact, OfferRefused)
    assert fact.item == ITEM
    assert receiver.is_complete
    assert not any(network.nodes["other"].machine.unfinished().values())


# What the result says.


def test_a_subscriber_whose_link_state_overtakes_its_subscribe_is_waited_for() -> None:
    swarm = scene(loss=0.0, sending_ns=SECOND)
    begin(swarm, without=("h0", "h2"))
    network = swarm.network
    network.run(SECOND // 2)
    network.nodes["h1"].crash()
    network.faults("h1", "r0").lost_kinds = ("UpSubscribe",)
    network.run(100 * MILLISECOND)
    network.nodes["h1"].restart()
    # Its new links are known, and nobody else wants the object.
    network.run(1_500 * MILLISECOND)
    network.faults("h1", "r0").mend()
    network.run(20 * SECOND)
    [receiver] = [receiver for receiver in swarm.receivers if receiver.node == "h1"]
    assert receiver.is_complete
    assert [reason for _, reason in receiver.stopped] == [""]


def test_a_relay_point_that_joins_late_is_sent_what_it_missed() -> None:
    """It is an end of the plan already, and begins with FIRST as any other that joins."""
    swarm = scene(
        world=BY_NAME["routers that receive"],
        filter_ones_max=22,
        sending_ns=2 * SECOND,
        knows_receivers=False,
    )
    begin(swarm, without=("r1",))
    network = swarm.network
    network.run(1_500 * MILLISECOND)
    plan = network.nodes["r0"].machine.plan_of(swarm.sender.offer.item)
    assert plan is not None
    assert network.nodes["r1"].number in plan.relays
    next(receiver for receiver in swarm.receivers if receiver.node == "r1").subscribe()
    finish(swarm)
    assert [(fact.done, fact.failed) for _, fact in swarm.sender.finished] == [(5, ())]


def test_those_below_a_dead_relay_are_named() -> None:
    swarm = scene(world=TREE, filter_ones_max=22, sending_ns=4 * SECOND)
    begin(swarm)
    network = swarm.network
    network.run(SECOND)
    plan = network.nodes["r0"].machine.plan_of(swarm.sender.offer.item)
    assert plan is not None
    numbers = {node.number: name for name, node in network.nodes.items()}
    assert "r1" in [numbers[relay] for relay in plan.relays]
    # The relay point at r1 loses all that the publisher says of this transfer.
    network.faults("r0", "r1").lost_kinds = ("First", "Symbols", "Repair", "End", "Stop")
    network.faults("r1", "r0").lost_kinds = ("Report",)
    network.run(30 * SECOND)
    [(_, finished)] = swarm.sender.finished
    below = {network.nodes[name].number for name in ("h0", "h1", "h2")}
    assert below <= set(finished.failed)
    assert not set(finished.failed) & set(plan.relays)
