"""The publisher's flow table, against the vectors and a plain copy of the algorithm."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.covering import covers
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.congestion.sender.flow_table import FlowTable
from penstock.transport.congestion.settings import DEFAULT, LITERAL

S1, S2, S3, S4, S5 = range(1, 6)
ENCODER = Encoder(b"table")
STEPS = [
    ((0b0011, S1, 50), {(0b0011, S1, 50)}),
    ((0b0111, S2, 80), {(0b0011, S1, 50)}),
    ((0b0111, S2, 30), {(0b0011, S1, 50), (0b0111, S2, 30)}),
    ((0b0001, S3, 20), {(0b0001, S3, 20)}),
    ((0b0001, S3, 60), {(0b0001, S3, 60)}),
    ((0b0001, S4, 60), {(0b0001, S3, 60)}),
    ((0b0001, S4, 40), {(0b0001, S4, 40)}),
    ((0b0011, S1, 40), {(0b0001, S4, 40)}),
    ((0b1000, S5, 10), {(0b0001, S4, 40), (0b1000, S5, 10)}),
]


def rows(table: FlowTable) -> set[tuple[int, int, float]]:
    return {(flow.bits, flow.clr, flow.quota_mps) for flow in table}


def test_it_goes_as_the_vectors_say() -> None:
    table = FlowTable(DEFAULT)
    for (bits, clr, quota), expected in STEPS:
        table.request(None, bits, clr, quota, 0)
        assert rows(table) == expected


def test_literally_an_equal_quota_is_added_once_more() -> None:
    table = FlowTable(LITERAL)
    table.request(None, 0b0001, S3, 60, 0)
    table.request(None, 0b0001, S4, 60, 0)
    assert rows(table) == {(0b0001, S3, 60), (0b0001, S4, 60)}
    table = FlowTable(LITERAL)
    table.request(None, 0b0001, S4, 40, 0)
    table.request(None, 0b0011, S1, 40, 0)
    assert rows(table) == {(0b0001, S4, 40), (0b0011, S1, 40)}


def test_where_filters_are_known_a_false_positive_covers_nothing() -> None:
    table = FlowTable(DEFAULT)
    wide, other = parse("a = 1").filters[0], parse("b = 2").filters[0]
    table.request(wide, 0b0001, S1, 10, 0)
    table.request(other, 0b0011, S2, 50, 0)
    assert len(table) == 2


FILTERS = [
    parse(text).filters[0] for text in ("a > 0", "a > 5", "a > 5 and b = 1", "b = 1", "c = 2")
]


@given(
    asked=st.lists(
        st.tuples(st.sampled_from(FILTERS), st.integers(1, 4), st.integers(1, 100)), max_size=25
    )
)
def test_no_flow_is_useless_and_none_that_is_asked_for_too_fast(
    asked: list[tuple[Filter, int, int]],
) -> None:
    table = FlowTable(DEFAULT)
    last: dict[tuple[Filter, int], int] = {}
    for filter_, clr, quota in asked:
        table.request(filter_, ENCODER.filter_bits(filter_), clr, quota, 0)
        last[filter_, clr] = quota
        # What was just asked for is not exceeded by all that limits it.
        limits = [f.quota_mps for f in table if f.filter and covers(f.filter, filter_)]
        assert min(limits) <= quota
        flows = list(table)
        for flow in flows:
            for other in flows:
                if other is not flow and flow.filter and other.filter:
                    is_dominated = covers(flow.filter, other.filter)
                    assert not (is_dominated and flow.quota_mps <= other.quota_mps)


def test_a_message_is_in_the_flows_that_match_it() -> None:
    table = FlowTable(DEFAULT)
    for number, filter_ in enumerate(FILTERS):
        table.request(filter_, ENCODER.filter_bits(filter_), number + 1, 10 + number, 0)
    message = Message({"a": 7, "b": 1})
    matching = {flow.filter for flow in table.match(message, 0)}
    assert matching == {
        flow.filter for flow in table if flow.filter and flow.filter.matches(message)
    }


# Who says what.


def test_nobody_can_slow_down_below_the_floor_or_in_another_s_name() -> None:
    table = FlowTable(DEFAULT)
    flow = table.request(None, 1, S1, 0.0, 0)
    assert flow is not None
    assert flow.quota_mps == DEFAULT.rate_min_mps
    assert not table.renew(flow.id, S2, 0.0, 0)
    assert table.renew(flow.id, S1, 30, 0)
    table.release(flow.id, None, 0, S2)
    assert not flow.is_orphan


def test_one_receiver_has_so_many_flows_and_all_together_so_many() -> None:
    table = FlowTable(replace(DEFAULT, flows_each_max=3, flows_max=5))
    for bit in range(10):
        table.request(None, 1 << bit, S1, 10, 0)
    assert (len(table), table.refused_flows) == (3, 7)
    for bit in range(10, 20):
        table.request(None, 1 << bit, S2, 10, 0)
    assert len(table) == 5


def test_a_silent_receiver_s_flow_is_halved_and_then_let_go() -> None:
    table, rtt = FlowTable(DEFAULT), 100 * MILLISECOND
    flow = table.request(None, 1, S1, 80, 0)
    assert flow is not None
    flow.rtt_ns = rtt
    seen = []
    for now in range(0, 20 * SECOND, rtt):
        for _ in range(20):
            flow.offered.count(now)
        table.expire(rtt, now)
        seen.append(flow.quota_mps)
        if not len(table):
            break
    assert 40 in seen
    assert len(table) == 0
    # Nothing more is offered than 200 a second: it ended above that.
    assert seen[-1] > 200


def test_who_leaves_lets_go() -> None:
    table = FlowTable(DEFAULT)
    flow = table.request(None, 1, S1, 80, 0)
    assert flow is not None
    table.release(flow.id, None, 0, S1)
    assert flow.is_orphan
    table.expire(SECOND, SECOND)
    assert len(table) == 0


@pytest.mark.parametrize("is_orphan", [False, True])
def test_another_receiver_takes_over(is_orphan: bool) -> None:
    table = FlowTable(DEFAULT)
    flow = table.request(None, 1, S1, 80, 0)
    assert flow is not None
    flow.last_seq = 17
    flow.is_orphan = is_orphan
    other = table.request(None, 1, S2, 90 if is_orphan else 70, 0)
    # Its numbers go on.
    assert other is flow
    assert (flow.clr, flow.is_orphan, flow.last_seq) == (S2, False, 17)
