"""A plan after joins, leaves, failures and new tags: what stays as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.bloomcast.controller.planner import RelayChoice, plan_transfer
from penstock.bloomcast.controller.segment_plan import Segment, TransferPlan
from penstock.bloomcast.controller.tagged_network import LinkTagTable, TaggedNetwork
from penstock.bloomcast.controller.tree import shortest_path_tree
from penstock.bloomcast.filters.packet_filter import ones, union
from tests.bloomcast.controller.networks import Builder, line, scale_free_cast

CAST = scale_free_cast(120, 60, 3)
TABLE = LinkTagTable(tags_max=100_000)
TAGGED = TaggedNetwork(CAST.network, 0, TABLE)


def plan_for(
    subscribers: list[int],
    previous: TransferPlan | None = None,
    *,
    tagged: TaggedNetwork = TAGGED,
    relay_choice: RelayChoice = RelayChoice.HUB,
) -> TransferPlan:
    return plan_transfer(
        tagged, CAST.publisher, subscribers, previous=previous, relay_choice=relay_choice
    )


def content(segment: Segment) -> Segment:
    return replace(segment, plan=0, number=0)


def check_versions(old: TransferPlan, new: TransferPlan) -> None:
    """Numbers stay with their heads, and versions rise exactly where something has changed."""
    for number, segment in new.segments.items():
        before = old.segments.get(number)
        if before is None:
            assert number >= old.next_number
            assert segment.plan == 0
            continue
        assert segment.head == before.head
        if content(segment) == content(before):
            assert segment == before
        else:
            assert segment.plan == (before.plan + 1) % 65_536
    was = {content(each): each.number for each in old.segments.values()}
    for each in new.segments.values():
        assert was.get(content(each), each.number) == each.number


@pytest.mark.parametrize("relay_choice", RelayChoice)
def test_the_same_once_more_changes_nothing(relay_choice: RelayChoice) -> None:
    subscribers = [*CAST.subscribers]
    plan = plan_for(subscribers, relay_choice=relay_choice)
    assert plan_for(subscribers, plan, relay_choice=relay_choice) == plan


@settings(max_examples=30)
@given(st.data(), st.sampled_from(RelayChoice))
def test_versions_rise_where_something_changes(
    data: st.DataObject, relay_choice: RelayChoice
) -> None:
    plan: TransferPlan | None = None
    for _ in range(4):
        subscribers = data.draw(st.lists(st.sampled_from(CAST.subscribers), unique=True))
        next_plan = plan_for(subscribers, plan, relay_choice=relay_choice)
        if plan is not None:
            check_versions(plan, next_plan)
        plan = next_plan
        served = [end.node for each in plan.segments.values() for end in each.ends]
        assert sorted(served) == sorted([*subscribers, *plan.relays])


@settings(max_examples=40)
@given(st.data())
def test_a_join_changes_the_one_segment_that_it_falls_into(data: st.DataObject) -> None:
    """If that segment has room; this is true of any plan, however it came to be."""
    order = data.draw(st.permutations(CAST.subscribers))
    here = data.draw(st.integers(5, 55))
    left = data.draw(st.integers(0, 4))
    first = plan_for([*order[: here + left]])
    old = plan_for([*order[:here]], first)
    joiner = order[here + left]
    new = plan_for([*order[:here], joiner], old)
    changed = [number for number, each in new.segments.items() if old.segments.get(number) != each]
    assert changed
    tree = shortest_path_tree(CAST.network, CAST.publisher, [*order[:here], joiner])
    path = tree.path(CAST.publisher, joiner)
    owner = {link: each for each in old.segments.values() for link in each.links}
    added = [step for step in path if step.down not in owner]
    branches_at = added[0].parent if added else path[-1].parent
    if branches_at in old.heads:
        # It becomes part of any one segment there, or of a new one.
        assert len(changed) == 1
        assert new.segments[changed[0]].head == branches_at
        return
    segment = owner[tree.steps[branches_at].down]
    links = [*segment.links, *[step.down for step in added]]
    up_links = [*segment.up_links, *[step.up for step in added]]
    fits = all(
        min(ones(union(TAGGED.tags(link)[j] for link in each)) for j in range(8)) <= 99
        for each in (links, up_links)
    )
    if fits:
        assert changed == [segment.number]
        assert new.relays == old.relays


def test_relays_stay_until_little_is_left_below_them() -> None:
    made = Builder().hosts(1).routers(2).link(1, 2)
    for host in range(3, 63):
        made.hosts(host).link(2, host)
    tagged = TaggedNetwork(made.network(), 0)
    plan = plan_transfer(tagged, 1, range(3, 63))
    assert plan.relays == (2,)
    for count in range(59, 14, -1):
        after = plan_transfer(tagged, 1, range(3, 3 + count), previous=plan)
        # Who leaves is in one segment; when it was the last one there, none changes.
        changed = [n for n, each in after.segments.items() if each != plan.segments.get(n)]
        assert len(changed) <= 1
        assert after.relays == (2,)
        plan = after
    plan = plan_transfer(tagged, 1, range(3, 8), previous=plan)
    assert plan.relays == ()
    assert len(plan.segments) == 1


def test_numbers_of_segments_that_are_gone_are_not_used_again() -> None:
    subscribers = [*CAST.subscribers]
    plan = plan_for(subscribers)
    nobody = plan_for([], plan)
    assert nobody.segments == {}
    again = plan_for(subscribers, nobody)
    assert min(again.segments) > max(plan.segments)
    full = replace(nobody, next_number=65_535)
    assert {65_535, 0} <= {*plan_for(subscribers, full).segments}


def test_versions_wrap() -> None:
    plan = plan_for([CAST.subscribers[0]])
    last = {number: replace(each, plan=65_535) for number, each in plan.segments.items()}
    after = plan_for([*CAST.subscribers[:2]], replace(plan, segments=last))
    assert [each.plan for each in after.segments.values()] == [0]


def test_new_tags_change_every_segment() -> None:
    subscribers = [*CAST.subscribers]
    plan = plan_for(subscribers)
    after = plan_for(subscribers, plan, tagged=TaggedNetwork(CAST.network, 1, TABLE))
    assert after.tag_epoch == 1
    check_versions(plan, after)
    assert not {*plan.segments.values()} & {*after.segments.values()}


def test_a_link_with_a_new_secret_changes_its_segment() -> None:
    old, new = line(1, 2, 3), line(1, 2, 3)
    new.ports[2] = [state for state in new.ports[2] if state.neighbour == 1]
    Builder.one_way(new, 2, 3)
    plan = plan_transfer(TaggedNetwork(old.network(), 0), 1, [3])
    after = plan_transfer(TaggedNetwork(new.network(), 0), 1, [3], previous=plan)
    assert after.segments[0].plan == 1
    assert after.segments[0].links != plan.segments[0].links


def test_a_failed_router_changes_only_what_it_carried() -> None:
    """Two stars at the publisher; a router on the way to one fails, and there is another."""
    made = line(1, 2, 3).routers(4, 5, 6).link(1, 4).link(4, 3).link(1, 5).link(5, 6)
    for host in range(10, 28):
        made.hosts(host).link(3, host)
    for host in range(30, 48):
        made.hosts(host).link(6, host)
    subscribers = [*range(10, 28), *range(30, 48)]
    plan = plan_transfer(TaggedNetwork(made.network(), 0), 1, subscribers)
    assert len(plan.segments) == 2
    del made.roles[2]
    after = plan_transfer(TaggedNetwork(made.network(), 0), 1, subscribers, previous=plan)
    assert [each.plan for each in after.segments.values()].count(0) == 1
    check_versions(plan, after)
    assert not after.left_out
