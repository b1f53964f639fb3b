"""Restarts in the middle of a transfer: it goes on, and nothing verified is sent again."""

from __future__ import annotations

import pytest

from penstock.bloomcast.facts import EpochBegan
from penstock.bloomcast.publisher import rounds
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.cast.cast_applications import ReceivingProgram
from penstock.sim.swarm.cast import CastSwarm
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene, sent


def ends_well(swarm: CastSwarm) -> bool:
    outcomes = [(fact.done, fact.failed) for _, fact in swarm.sender.finished]
    everybody = len(swarm.receivers)
    return outcomes == [(everybody, ())] and all(each.is_complete for each in swarm.receivers)


def test_a_sender_that_is_killed_sends_no_verified_block_again() -> None:
    swarm = scene(symbols=400, sending_ns=2 * SECOND)
    begin(swarm)
    swarm.network.run(1_400 * MILLISECOND)
    programs = [each for each in swarm.receivers if isinstance(each, ReceivingProgram)]
    verified = min(len(receiver.verified) for receiver in programs)
    assert verified >= 2
    before = sent(swarm.network, "Symbols", sender="p")
    swarm.network.nodes["p"].crash()
    swarm.network.run(SECOND)
    swarm.network.nodes["p"].restart()
    finish(swarm)
    assert ends_well(swarm)
    # The manifest has one symbol, other blocks a hundred.
    assert sent(swarm.network, "Symbols", sender="p") - before == 401 - (1 + 100 * (verified - 1))


def test_a_receiver_that_is_killed_is_sent_the_rest() -> None:
    swarm = scene(symbols=400, sending_ns=2 * SECOND)
    begin(swarm)
    network = swarm.network
    network.run(1_400 * MILLISECOND)
    network.nodes["h0"].crash()
    network.run(500 * MILLISECOND)
    network.nodes["h0"].restart()
    finish(swarm)
    assert ends_well(swarm)
    assert 0 < sent(network, "Repair", sender="r0", port="h0") < 250
    assert sent(network, "Repair", sender="r0", port="h1") == 0


@pytest.mark.parametrize("world", ["line", "ring", "tree"])
def test_a_controller_that_is_killed_learns_of_a_running_transfer(world: str) -> None:
    swarm = scene(world=BY_NAME[world], symbols=400, sending_ns=4 * SECOND, filter_ones_max=30)
    begin(swarm)
    network = swarm.network
    network.run(1_500 * MILLISECOND)
    network.nodes["r0"].crash()
    network.run(300 * MILLISECOND)
    network.nodes["r0"].restart()
    network.run(1_500 * MILLISECOND)
    assert network.nodes["r0"].machine.unfinished()["running transfers"] == 1
    finish(swarm)
    assert ends_well(swarm)


def test_a_relay_point_that_receives_reports_for_itself() -> None:
    swarm = scene(world=BY_NAME["routers that receive"], filter_ones_max=15, loss=0.05)
    begin(swarm)
    network = swarm.network
    plan = None
    while plan is None:
        network.run(10 * MILLISECOND)
        plan = network.nodes["r0"].machine.plan_of(swarm.sender.offer.item)
    assert network.nodes["r1"].number in plan.relays
    finish(swarm)
    assert ends_well(swarm)


def test_after_the_last_generation_another_epoch_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_GENERATION_MAX", 1)
    swarm = scene(loss=0.3)
    begin(swarm)
    finish(swarm)
    assert ends_well(swarm)
    assert swarm.network.nodes["p"].told(EpochBegan)


def test_the_next_offer_waits_until_the_controller_knows_that_the_last_is_over() -> None:
    """Otherwise whoever has got that and is gone is planned for, and fails for its silence."""
    swarm = scene()
    begin(swarm, without=("h2",))
    network = swarm.network
    network.faults("p", "r0").lost_kinds = ("UpStop",)
    network.run(8 * SECOND)
    assert [(fact.done, fact.failed) for _, fact in swarm.sender.finished] == [(2, ())]
    [late] = [receiver for receiver in swarm.receivers if receiver.node == "h2"]
    late.subscribe()
    swarm.sender.publish_again()
    network.run(500 * MILLISECOND)
    network.faults("p", "r0").mend()
    finish(swarm, 30 * SECOND)
    assert late.is_complete
    assert [(fact.done, fact.failed) for _, fact in swarm.sender.finished] == [(2, ()), (1, ())]
