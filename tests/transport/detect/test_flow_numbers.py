"""A publisher's flows: numbers without holes, and bounds on all that others may want."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.transport.detect.flow_numbers import LEASE_NS, FlowClaim, FlowNumbers
from penstock.wire.frames.data import FlowTag
from penstock.wire.limits import FLOWS_MAX
from tests.frames import data

ONE, OTHER = FlowClaim(1, 0), FlowClaim(2, 0)


def send(flows: FlowNumbers, seq: int, now: int = 0, **attributes: int) -> tuple[FlowTag, ...]:
    numbered = flows.tags_for(Message(attributes))
    frame = data(seq, attributes, flows=numbered)
    flows.on_sent(frame, now)
    return numbered


def numbers(flows: tuple[FlowTag, ...]) -> list[tuple[int, int]]:
    return [(flow.flow_id, flow.flow_seq) for flow in flows]


def below(limit: int) -> Predicate:
    return parse(f"a < {limit}")


def test_what_matches_is_numbered_and_nothing_else() -> None:
    flows = FlowNumbers(10)
    assert flows.claim(ONE, below(5), 0) == [(0, 0)]
    assert numbers(send(flows, 0, a=1)) == [(0, 1)]
    assert send(flows, 1, a=7) == ()
    assert numbers(send(flows, 2, a=4)) == [(0, 2)]
    assert [sent.seq for sent in flows.messages_at(0, 1, 5)] == [0, 2]
    assert flows.take_advanced() == [(0, 2)]
    assert flows.take_advanced() == []


def test_those_who_name_the_same_filter_share_a_flow() -> None:
    flows = FlowNumbers(10)
    flows.claim(ONE, below(5), 0)
    send(flows, 0, a=1)
    assert flows.claim(OTHER, parse("a < 5 or b = 1"), 0) == [(0, 1), (1, 0)]
    assert (flows.group_size(ONE), flows.group_size(OTHER), len(flows)) == (2, 2, 2)
    flows.release(ONE)
    assert numbers(send(flows, 1, a=1, b=1)) == [(0, 2), (1, 1)]
    flows.release(OTHER)
    assert len(flows) == 0
    assert send(flows, 2, a=1) == ()


def test_who_says_it_again_keeps_its_numbers() -> None:
    flows = FlowNumbers(10)
    flows.claim(ONE, below(5), 0)
    send(flows, 0, a=1)
    # From when it began: it heard nothing of the number that was given since.
    assert flows.claim(ONE, parse("a < 5 or b = 1"), 0) == [(0, 0), (1, 0)]
    send(flows, 1, a=1, b=1)
    assert flows.claim(ONE, parse("b = 1"), 0) == [(1, 0)]
    assert len(flows) == 1
    assert flows.claim(OTHER, parse("b = 1"), 0) == [(1, 1)]


def test_what_is_not_renewed_ends() -> None:
    flows = FlowNumbers(10)
    flows.claim(ONE, below(5), 0)
    flows.claim(OTHER, below(6), 0)
    assert flows.renew(OTHER, LEASE_NS - 1)
    assert not flows.renew(ONE, LEASE_NS)
    assert len(flows) == 1
    assert flows.claimed_until == 2 * LEASE_NS - 1


def test_a_full_table_refuses_and_a_greedy_subscriber_gets_a_part() -> None:
    flows = FlowNumbers(8)
    many = parse(" or ".join(f"a = {i}" for i in range(6)))
    given_ = flows.claim(ONE, many, 0)
    assert [flow is None for flow in given_] == [False, False, True, True, True, True]
    for subscriber in range(2, 6):
        flows.claim(FlowClaim(subscriber, 0), parse(f"b = {subscriber} or c = {subscriber}"), 0)
    assert len(flows) == 8
    # What there is can still be shared.
    assert flows.claim(FlowClaim(9, 0), parse("b = 2 or d = 1"), 0) == [(2, 0), None]
    assert flows.claim(FlowClaim(10, 0), parse("e = 1"), 0) == [None]
    assert not flows.renew(FlowClaim(10, 0), 0)


def test_claims_are_bounded() -> None:
    flows = FlowNumbers(1)
    for subscriber in range(100):
        flows.claim(FlowClaim(subscriber, 0), below(5), 0)
    held = sum(flows.renew(FlowClaim(subscriber, 0), 0) for subscriber in range(100))
    assert held == 16


def test_what_has_no_room_in_a_header_leaves_no_hole() -> None:
    flows = FlowNumbers(400)
    for i in range(FLOWS_MAX + 4):
        flows.claim(FlowClaim(i, 0), below(10 + i), 0)
    given_ = defaultdict(list)
    for seq in range(50):
        found = send(flows, seq, a=1)
        assert len(found) == FLOWS_MAX
        for flow in found:
            given_[flow.flow_id].append(flow.flow_seq)
    assert len(given_) == FLOWS_MAX + 4
    for own in given_.values():
        assert own == list(range(1, len(own) + 1))


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.integers(0, 9), max_size=40),
)
def test_numbers_are_those_of_a_plain_count(limits: list[int], values: list[int]) -> None:
    flows = FlowNumbers(100)
    ids: dict[int, int] = {}
    for subscriber, limit in enumerate(limits):
        ((id_, _),) = filter(None, flows.claim(FlowClaim(subscriber, 0), below(limit), 0))
        ids[limit] = id_
    counts = dict.fromkeys(ids, 0)
    for seq, value in enumerate(values):
        found = dict(numbers(send(flows, seq, a=value)))
        matching = [limit for limit in ids if value < limit]
        for limit in matching:
            counts[limit] += 1
        assert found == {ids[limit]: counts[limit] for limit in matching}
