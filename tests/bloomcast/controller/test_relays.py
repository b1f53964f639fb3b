"""Where relays go, in networks small enough to see why."""

from __future__ import annotations

import pytest

from penstock.bloomcast.controller.planner import RelayChoice, plan_transfer
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from tests.bloomcast.controller.networks import Builder, line


def plan_of(
    made: Builder,
    publisher: int,
    subscribers: list[int],
    relay_choice: RelayChoice = RelayChoice.HUB,
) -> TransferPlan:
    tagged = TaggedNetwork(made.network(), 0)
    return plan_transfer(tagged, publisher, subscribers, relay_choice=relay_choice)


def star(leaves: int, *, seed: int = 0) -> Builder:
    """A publisher at a router that has so many hosts."""
    made = Builder(seed).hosts(1).routers(2).link(1, 2)
    for host in range(3, 3 + leaves):
        made.hosts(host).link(2, host)
    return made


@pytest.mark.parametrize("relay_choice", RelayChoice)
@pytest.mark.parametrize("seed", range(3))
def test_a_small_tree_has_no_relay(relay_choice: RelayChoice, seed: int) -> None:
    plan = plan_of(star(18, seed=seed), 1, [*range(3, 21)], relay_choice)
    assert plan.relays == ()
    assert len(plan.segments) == 1
    assert plan.segments[0].depth == 2
    assert plan.heads[1].levels == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_hub_of_a_large_star_is_its_only_relay(seed: int) -> None:
    plan = plan_of(star(60, seed=seed), 1, [*range(3, 63)])
    assert plan.relays == (2,)
    assert plan.heads[1].levels == 2
    # 61 links, of which 19 to 29 fit a filter.
    assert 3 <= len(plan.heads[2].segments) <= 4


def test_a_publisher_with_many_links_has_several_segments_and_no_relay() -> None:
    made = Builder().routers(1)
    for host in range(2, 62):
        made.hosts(host).link(1, host)
    for relay_choice in RelayChoice:
        plan = plan_of(made, 1, [*range(2, 62)], relay_choice)
        assert plan.relays == ()
        assert 3 <= len(plan.segments) <= 4


def test_one_link_too_many_makes_the_next_router_the_relay() -> None:
    """The largest star that fits without the publisher's link needs a relay, not two filters."""
    for leaves in range(18, 40):
        plan = plan_of(star(leaves), 1, [*range(3, 3 + leaves)])
        if plan.relays:
            assert plan.relays == (2,)
            assert len(plan.heads[2].segments) == 1
            return
    raise AssertionError


def test_a_long_line_is_cut_into_few_pieces() -> None:
    plan = plan_of(line(*range(1, 61)), 1, [60])
    assert 2 <= len(plan.relays) <= 3
    assert plan.heads[1].levels == len(plan.segments)
    assert sum(segment.depth for segment in plan.segments.values()) == 59


@pytest.mark.parametrize("relay_choice", RelayChoice)
def test_a_hundred_hosts_on_a_lan_are_one_segment(relay_choice: RelayChoice) -> None:
    hosts = [*range(10, 110)]
    made = line(1, 2, 3).hosts(*hosts).lan(3, hosts)
    plan = plan_of(made, 1, hosts, relay_choice)
    assert len(plan.segments) == 1
    segment = plan.segments[0]
    assert len(segment.links) == 3
    assert {end.path for end in segment.ends} == {segment.down}
    assert [end.node for end in segment.ends] == hosts
    # The hosts' own links are not on the way back that routers look at.
    assert [link.node for link in segment.up_links] == [2, 3]


def test_routers_on_a_lan_pass_on_what_is_behind_them() -> None:
    made = Builder().routers(1, *range(2, 32)).lan(1, range(2, 32))
    for router in range(2, 32):
        made.hosts(router + 100).link(router, router + 100)
    plan = plan_of(made, 1, [*range(102, 132)])
    assert len(plan.heads[1].segments) == 1
    # One LAN is never in two filters: what does not fit stays behind relays.
    assert 0 < len(plan.relays) < 30
    first = plan.segments[plan.heads[1].segments[0]]
    passing_on = {link.node for link in first.up_links if link.node < 100}
    assert passing_on == {*range(2, 32)} - {*plan.relays}


@pytest.mark.parametrize("relay_choice", RelayChoice)
def test_a_lan_has_room_for_1_024_ends(relay_choice: RelayChoice) -> None:
    hosts = [*range(10, 1_110)]
    made = line(1, 2).hosts(*hosts).lan(2, hosts)
    plan = plan_of(made, 1, hosts, relay_choice)
    (segment,) = plan.segments.values()
    assert [end.node for end in segment.ends] == hosts[:1_024]
    assert plan.left_out == tuple(hosts[1_024:])


@pytest.mark.parametrize("relay_choice", RelayChoice)
@pytest.mark.parametrize("leaves", [20, 30, 60])
def test_no_segment_has_more_ends_than_it_may(relay_choice: RelayChoice, leaves: int) -> None:
    hosts = [*range(1_000, 2_010)]
    made = line(1, 2, 3).hosts(*hosts).lan(2, hosts)
    others = [*range(10, 10 + leaves)]
    for other in others:
        made.hosts(other).link(3, other)
    plan = plan_of(made, 1, hosts + others, relay_choice)
    assert plan.left_out == ()
    assert all(len(each.ends) <= 1_024 for each in plan.segments.values())


def test_nobody_to_send_to_needs_no_segment() -> None:
    plan = plan_of(line(1, 2), 1, [1, 9])
    assert plan.segments == {}
    assert plan.left_out == (9,)
    assert plan.heads[1].levels == 0


def test_bfs_takes_all_links_of_a_node_or_none() -> None:
    """Two stars: whichever the paper's planner cannot take whole becomes a relay."""
    made = line(1, 2, 3)
    for host in range(10, 26):
        made.hosts(host).link(2, host)
    for host in range(30, 46):
        made.hosts(host).link(3, host)
    plan = plan_of(made, 1, [*range(10, 26), *range(30, 46)], RelayChoice.BFS)
    assert plan.relays == (3,)
    below = plan.segments[plan.heads[3].segments[0]]
    assert [end.node for end in below.ends] == [*range(30, 46)]
    above = plan.segments[plan.heads[1].segments[0]]
    assert [end.node for end in above.ends] == [3, *range(10, 26)]


@pytest.mark.spec("P5")
def test_bfs_gives_a_relay_with_many_links_several_filters() -> None:
    plan = plan_of(star(60), 1, [*range(3, 63)], RelayChoice.BFS)
    assert plan.relays == (2,)
    assert len(plan.heads[2].segments) >= 3
