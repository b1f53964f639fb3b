"""Who is named as failed without a reason, and who has one."""

from __future__ import annotations

import pytest

from penstock.bloomcast.facts import TransferFinished
from penstock.kernel.instant import SECOND
from penstock.sim.checkers.cast.told import ToldChecker
from penstock.sim.swarm.cast import ITEM, CastSwarm
from tests.sim.cast.faulty_worlds import begin, scene


def blamed(swarm: CastSwarm, *, of: str = "h2") -> bool:
    """Whether the checker objects if the publisher now says that a node has failed."""
    node = swarm.network.nodes[of].number
    [told] = [each for each in swarm.checkers if isinstance(each, ToldChecker)]
    assert not told.wrong
    now = swarm.network.events.now
    swarm.sender.finished.append((now, TransferFinished(ITEM, 2, (node,))))
    told.sample(swarm.network)
    return bool(told.wrong)


def begun() -> CastSwarm:
    swarm = scene(sending_ns=2 * SECOND)
    begin(swarm)
    swarm.network.run(SECOND)
    return swarm


def test_nobody_fails_without_a_reason() -> None:
    assert blamed(begun())


@pytest.mark.parametrize("leaves", ["before", "meanwhile", "never"])
def test_a_node_that_restarts_has_a_reason_if_it_wants_nothing_any_more(leaves: str) -> None:
    swarm = begun()
    node, receiver = swarm.network.nodes["h2"], swarm.receivers[2]
    if leaves == "before":
        receiver.leave()
    node.crash()
    if leaves == "meanwhile":
        receiver.leave()
    node.restart()
    swarm.network.run(SECOND)
    assert blamed(swarm) is (leaves == "never")


def test_a_node_that_has_it_all_and_restarts_has_one_until_that_is_known() -> None:
    swarm = begun()
    swarm.network.run(2 * SECOND)
    assert swarm.receivers[2].is_complete
    swarm.network.nodes["h2"].crash()
    swarm.network.nodes["h2"].restart()
    assert not blamed(swarm)
    swarm = begun()
    swarm.network.run(2 * SECOND)
    swarm.network.nodes["h2"].crash()
    swarm.network.nodes["h2"].restart()
    swarm.network.run(5 * SECOND)
    swarm.sender.publish_again()
    assert blamed(swarm)


def test_a_node_that_left_and_stays_up_has_none() -> None:
    swarm = begun()
    swarm.receivers[2].leave()
    assert blamed(swarm)
