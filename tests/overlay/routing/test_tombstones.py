"""A broker that is gone for good is forgotten, and one that comes back after all is heard."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.overlay.routing.tombstones import Tombstones
from penstock.overlay.settings import DEFAULTS, OverlaySettings
from tests.overlay.net import Net, line

FORGOTTEN_NS = DEFAULTS.expire_ns + 2 * DEFAULTS.compare_ns


def with_a_fourth(apart_ns: int) -> Net:
    """Brokers 1 to 4 in a line, their timers out of step, and a client of 4."""
    net = Net()
    line(net, 4)
    for name in ("1", "2", "3"):
        net.start(name)
        net.run(apart_ns)
    net.epochs["4"] = 50
    net.start("4")
    net.client("c", "4")
    net.subscribe("c", 1, "x = 1")
    net.run(5 * SECOND)
    assert net.brokers["1"].advertised_by(4) != ()
    return net


def is_forgotten(net: Net, broker: int) -> bool:
    return all(
        node.advertised_by(broker) == ()
        and node.sizes()["lsas"] == len(net.brokers)
        and node.sizes()["data_adverts"] == len(net.brokers) - 1
        and node.sizes()["request_adverts"] == len(net.brokers) - 1
        for node in net.brokers.values()
    )


@pytest.mark.parametrize("apart_ms", [0, 600, 1_300, 2_400])
def test_neighbours_out_of_step_do_not_hand_a_dead_broker_back_and_forth(apart_ms: int) -> None:
    net = with_a_fourth(apart_ms * MILLISECOND)
    net.stop("4")
    net.run(FORGOTTEN_NS)
    assert is_forgotten(net, 4)


def test_nor_do_those_whom_it_reaches_one_by_one() -> None:
    net = Net()
    for one, other in (("1", "2"), ("2", "3"), ("1", "3"), ("1", "4")):
        net.link(one, other)
    net.start("1", "2", "3", "4")
    net.run(SECOND)
    for one, other in (("1", "2"), ("2", "3"), ("1", "3")):
        net.cut(one, other)
    net.client("c", "4")
    net.subscribe("c", 1, "x = 1")
    net.run(SECOND)
    net.stop("4")
    for one, other in (("1", "2"), ("2", "3")):
        net.run(DEFAULTS.expire_ns * 4 // 9)
        net.mend(one, other)
    net.mend("1", "3")
    net.run(FORGOTTEN_NS)
    assert is_forgotten(net, 4)
    net.run(10 * DEFAULTS.expire_ns)
    assert is_forgotten(net, 4)


@pytest.mark.parametrize("epoch", [1, 60])
def test_a_broker_that_comes_back_is_heard_whatever_its_numbers(epoch: int) -> None:
    net = with_a_fourth(600 * MILLISECOND)
    net.stop("4")
    net.run(FORGOTTEN_NS)
    net.epochs["4"] = epoch - 1
    net.start("4")
    net.run(2 * SECOND)
    assert net.brokers["1"].reachable == [2, 3, 4]
    assert net.brokers["1"].advertised_by(4) == net.brokers["4"].advertised() != ()


def test_what_was_forgotten_is_within_its_bound_and_goes_in_the_end() -> None:
    settings = OverlaySettings(origins_max=3)
    forgotten = Tombstones(settings)
    for origin in range(1, 6):
        forgotten.add(origin, 7, now=origin)
    assert forgotten.seqs() == {3: 7, 4: 7, 5: 7}
    assert not forgotten.allows(5, 7)
    assert forgotten.allows(5, 8)
    assert forgotten.allows(1, 7)
    forgotten.expire(now=4 + 3 * settings.expire_ns)
    assert forgotten.seqs() == {5: 7}
    forgotten.remove(5)
    assert len(forgotten) == 0
