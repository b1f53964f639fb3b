"""What heads are told, and which of them."""

from __future__ import annotations

import pytest

from penstock.bloomcast.controller.config_pages import config_pages, heads_to_tell
from penstock.bloomcast.controller.planner import plan_transfer
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.topology import NODES_MAX
from penstock.wire.frames.cast.base import PAGES_MAX
from penstock.wire.frames.cast.plan import RelayConfig, SegmentEnd, SegmentFilter, Start
from tests.bloomcast.controller.networks import Builder, line, scale_free_cast

CAST = scale_free_cast(200, 50, 0)
TAGGED = TaggedNetwork(CAST.network, 0)


def plan_for(count: int, previous: TransferPlan | None = None) -> TransferPlan:
    return plan_transfer(TAGGED, CAST.publisher, CAST.subscribers[:count], previous=previous)


def check_pages(plan: TransferPlan, node: int) -> None:
    pages = config_pages(plan, node, version=7)
    head = plan.heads[node]
    segments = [plan.segments[number] for number in head.segments]
    assert [page.page for page in pages] == [*range(len(pages))]
    assert {(page.pages, page.version, page.levels) for page in pages} == {
        (len(pages), 7, head.levels)
    }
    assert [each for page in pages for each in page.segments] == [
        SegmentFilter(
            segment=each.number,
            plan=each.plan,
            choice=each.choice,
            links=each.down,
            depth=each.depth,
            up_choice=each.up_choice,
            up_links=each.up,
        )
        for each in segments
    ]
    assert [each for page in pages for each in page.ends] == [
        SegmentEnd(segment=each.number, node=end.node, path=end.path)
        for each in segments
        for end in each.ends
    ]
    for page in pages:
        assert 69 * len(page.segments) + 37 * len(page.ends) <= 1_110
        if node == plan.publisher:
            assert isinstance(page, Start)
        else:
            assert isinstance(page, RelayConfig)
            assert page.parent_segment == head.parent_segment


def test_pages_say_all_of_a_head() -> None:
    plan = plan_for(50)
    assert len(plan.heads) > 1
    for node in plan.heads:
        check_pages(plan, node)


@pytest.mark.parametrize("hosts", [1, 28, 29, 300])
def test_many_ends_take_several_pages(hosts: int) -> None:
    made = line(1, 2).hosts(*range(10, 10 + hosts)).lan(2, range(10, 10 + hosts))
    plan = plan_transfer(TaggedNetwork(made.network(), 0), 1, range(10, 10 + hosts))
    check_pages(plan, 1)
    expected = 1 + -(-max(0, hosts - 28) // 30)
    assert len(config_pages(plan, 1, version=0)) == expected


def test_many_segments_take_several_pages() -> None:
    hosts = range(10, 10 + 500)
    made = Builder().routers(1).hosts(*hosts)
    for host in hosts:
        made.link(1, host)
    plan = plan_transfer(TaggedNetwork(made.network(), 0), 1, hosts)
    assert len(plan.segments) > 16
    check_pages(plan, 1)


def test_as_many_ends_as_there_can_be_fit_the_pages_of_a_head() -> None:
    made, hosts = Builder().routers(1), range(10, 9 + NODES_MAX)
    for at in range(0, len(hosts), 1_024):
        part = hosts[at : at + 1_024]
        made.hosts(*part).lan(1, part)
    plan = plan_transfer(TaggedNetwork(made.network(), 0), 1, hosts)
    assert plan.left_out == ()
    assert len(config_pages(plan, 1, version=0)) < PAGES_MAX


def test_nobody_to_send_to_is_one_empty_page() -> None:
    plan = plan_for(0)
    assert config_pages(plan, CAST.publisher, version=1) == [
        Start(version=1, page=0, pages=1, levels=0)
    ]


def test_at_first_all_heads_are_told_from_the_bottom_up() -> None:
    plan = plan_for(50)
    told = heads_to_tell(None, plan)
    assert sorted(told) == sorted(plan.heads)
    assert told[-1] == CAST.publisher
    for node in plan.relays:
        parent = plan.heads[node].parent_segment
        assert parent is not None
        assert told.index(node) < told.index(plan.segments[parent].head)


def test_later_only_those_are_told_for_whom_something_changes() -> None:
    old = plan_for(49)
    new = plan_for(50, old)
    assert heads_to_tell(old, old) == []
    told = heads_to_tell(old, new)
    changed = {
        each.head for number, each in new.segments.items() if old.segments.get(number) != each
    }
    assert {*told} == changed
    assert len(told) < len(new.heads)


def test_a_relay_that_is_not_needed_any_more_is_told_last() -> None:
    old = plan_for(50)
    new = plan_for(1, old)
    assert new.relays == ()
    assert heads_to_tell(old, new) == [CAST.publisher, *old.relays]
    assert config_pages(new, old.relays[0], version=2) == [
        RelayConfig(version=2, page=0, pages=1, levels=0, parent_segment=0)
    ]
