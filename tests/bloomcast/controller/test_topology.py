"""The topology manager: pages, numbers, ids, time and bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.controller.topology import LinkStateRefused, TopologyManager
from penstock.kernel.instant import SECOND
from penstock.wire.frames.cast.topology import PortKind, PortState
from tests.bloomcast.controller.networks import Builder, line, secret_of

PAIR = line(1, 2)


def fed(made: Builder, manager: TopologyManager | None = None) -> TopologyManager:
    manager = TopologyManager() if manager is None else manager
    for node in made.roles:
        for page in made.pages(node):
            assert manager.on_link_state(page, now=0) is None
    return manager


def test_a_link_is_usable_when_both_ends_name_it() -> None:
    manager = TopologyManager()
    manager.on_link_state(PAIR.pages(1)[0], now=0)
    assert not manager.network.ways[1]
    manager.on_link_state(PAIR.pages(2)[0], now=0)
    assert [*manager.network.ways[1]] == [2]
    assert [*manager.network.ways[2]] == [1]


def test_one_direction_alone_is_no_link() -> None:
    made = Builder().routers(1, 2).one_way(1, 2)
    network = fed(made).network
    assert not network.ways[1]
    assert not network.exits[1]


def test_pages_take_effect_together() -> None:
    made = Builder().routers(*range(1, 101))
    for other in range(2, 101):
        made.link(1, other)
    pages = made.pages(1)
    assert len(pages) == 3
    manager = TopologyManager()
    for node in range(2, 101):
        manager.on_link_state(made.pages(node)[0], now=0)
    before = manager.version
    for page in (pages[2], pages[0], pages[0]):
        manager.on_link_state(page, now=0)
        assert manager.version == before
        assert 1 not in manager.network.ways or not manager.network.ways[1]
    manager.on_link_state(pages[1], now=0)
    assert manager.version > before
    assert len(manager.network.ways[1]) == 99


@given(st.permutations(range(6)))
def test_pages_of_an_older_number_are_ignored(order: list[int]) -> None:
    """Two pages of each of three numbers, in any order: the newest complete one holds."""
    made = Builder().routers(1, *range(2, 100))
    for other in range(2, 100):
        made.link(1, other)
    manager = TopologyManager()
    for node in range(2, 100):
        manager.on_link_state(made.pages(node)[0], now=0)
    versions = []
    for number in range(3):
        partial = Builder(seed=number).routers(1)
        for other in range(2, 52 + number):
            partial.one_way(1, other)
        versions.append(partial.pages(1, number=number))
    newest = -1
    seen: dict[int, int] = {}
    for at in order:
        number, page = divmod(at, 2)
        manager.on_link_state(versions[number][page], now=0)
        # Pages of a number are dropped when one of a later number comes.
        if number >= max([newest, *seen]):
            seen = {number: seen.get(number, 0) + 1}
            if seen[number] == 2:
                newest = number
        if newest >= 0:
            assert len(manager.network.ways[1]) == 50 + newest


def test_a_node_that_started_again_counts_from_the_beginning() -> None:
    manager = fed(PAIR)
    manager.on_link_state(Builder().routers(1).pages(1, number=9)[0], boot=1, now=0)
    assert not manager.network.ways[1]
    manager.on_link_state(PAIR.pages(1, number=1)[0], boot=1, now=0)
    assert not manager.network.ways[1]
    manager.on_link_state(PAIR.pages(1, number=1)[0], boot=2, now=0)
    assert [*manager.network.ways[1]] == [2]


def test_a_node_is_forgotten_after_thirty_seconds_of_silence() -> None:
    manager = fed(PAIR)
    manager.on_link_state(PAIR.pages(1)[0], now=10 * SECOND)
    assert manager.next_wakeup() == 30 * SECOND
    assert manager.expire(now=30 * SECOND - 1) == []
    assert manager.expire(now=30 * SECOND) == [2]
    assert not manager.network.ways[1]
    assert manager.next_wakeup() == 40 * SECOND
    assert manager.expire(now=40 * SECOND) == [1]
    assert manager.next_wakeup() is None
    assert len(manager) == 0


def test_what_says_nothing_new_changes_no_version() -> None:
    manager = fed(PAIR)
    before, network = manager.version, manager.network
    manager.on_link_state(PAIR.pages(1, number=2)[0], now=SECOND)
    assert manager.version == before
    assert manager.network is network


def test_a_second_node_with_the_same_id_is_refused_by_name() -> None:
    manager = fed(PAIR)
    refused = manager.on_link_state(PAIR.pages(1, number=5, name="copy")[0], now=20 * SECOND)
    assert isinstance(refused, LinkStateRefused)
    assert (refused.reason, refused.node, refused.name) == ("same_id", 1, "copy")
    assert "'copy'" in refused.text
    assert "'n1'" in refused.text
    assert manager.name_of(1) == "n1"
    # The copy does not keep the first one alive.
    assert 1 in manager.expire(now=30 * SECOND)


def test_nodes_and_ports_are_bounded() -> None:
    manager = fed(PAIR, TopologyManager(nodes_max=2, ports_max=3))
    refused = manager.on_link_state(line(3, 4).pages(3)[0], now=0)
    assert refused is not None
    assert refused.reason == "nodes_full"
    more = Builder().routers(1, 2, 3).link(1, 2).link(1, 3)
    refused = manager.on_link_state(more.pages(1, number=2)[0], now=0)
    assert refused is not None
    assert refused.reason == "ports_full"
    # Its last good state holds, and there is room for a smaller one.
    assert [*manager.network.ways[1]] == [2]
    assert manager.on_link_state(PAIR.pages(1, number=3)[0], now=0) is None
    manager.expire(now=30 * SECOND)
    assert manager.on_link_state(more.pages(1, number=2)[0], now=30 * SECOND) is None


def test_a_port_with_two_secrets_is_refused() -> None:
    made = line(1, 2)
    made.ports[1].append(
        PortState(port=1, kind=PortKind.POINT_TO_POINT, neighbour=2, secret=secret_of("other"))
    )
    manager = TopologyManager()
    refused = manager.on_link_state(made.pages(1)[0], now=0)
    assert refused is not None
    assert refused.reason == "odd_ports"
    assert manager.on_link_state(PAIR.pages(1, number=2)[0], now=0) is None


def test_a_lan_is_one_link_down_and_one_up_for_each_host() -> None:
    made = Builder().routers(1).hosts(*range(11, 111)).lan(1, range(11, 111))
    network = fed(made).network
    assert [exit.reaches for exit in network.exits[1].values()] == [tuple(range(11, 111))]
    assert {way.port for way in network.ways[1].values()} == {1}
    assert all([*network.ways[host]] == [1] for host in range(11, 111))


def test_the_cheapest_of_several_links_is_taken() -> None:
    made = Builder().routers(1, 2).link(1, 2, cost=3).link(1, 2, cost=2).link(1, 2, cost=2)
    network = fed(made).network
    assert network.ways[1][2].port == 2
    assert [*network.exits[1]] == [1, 2, 3]
