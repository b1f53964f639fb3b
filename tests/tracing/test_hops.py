from typing import get_args

import pytest

from penstock.overlay.facts import RoutingAction, RoutingDecision, RoutingDropReason
from penstock.trace.fates import DropReason, HopDecision
from penstock.trace.records import Hop
from penstock.tracing.hops import Hops
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.packet import PacketId
from tests.frames import data
from tests.tracing.rows import NAMES, ListSink


def test_a_decision_has_the_message_and_the_packet() -> None:
    sink = ListSink()
    decision = RoutingDecision("dropped", PacketId(1, 2, 3), data(5, {}), "B2", "no_route")
    Hops(sink.add, NAMES).on_decision("B1", decision, now=100)
    dropped, no_route = HopDecision.DROPPED, DropReason.NO_ROUTE
    assert sink.rows == [Hop(100, "B1", "writer", 1, 5, dropped, "B2", no_route, 1, 2, 3)]


def test_a_message_has_no_packet_before_it_leaves_its_first_broker() -> None:
    sink = ListSink()
    Hops(sink.add, NAMES).on_decision("B1", RoutingDecision("entered", None, data(5, {})), now=100)
    assert sink.rows == [Hop(100, "B1", "writer", 1, 5, HopDecision.ENTERED)]


@pytest.mark.parametrize("action", get_args(RoutingAction))
@pytest.mark.parametrize("reason", get_args(RoutingDropReason))
def test_the_trace_has_all_words_of_the_overlay(
    action: RoutingAction, reason: RoutingDropReason
) -> None:
    sink = ListSink()
    decision = RoutingDecision(action, None, data(5, {}), None, reason)
    Hops(sink.add, NAMES).on_decision("B1", decision, now=100)
    (row,) = sink.of(Hop)
    assert (row.decision, row.reason) == (HopDecision(action), DropReason(reason))


def test_only_decisions_about_messages_are_traced() -> None:
    sink = ListSink()
    frame = EchoRequest(subscriber=2, pub=1, send_ts_us=0)
    Hops(sink.add, NAMES).on_decision("B1", RoutingDecision("entered", None, frame), now=100)
    assert sink.rows == []
