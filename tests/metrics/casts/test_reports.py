"""Who reports how much, and what of it comes to the publisher, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.casts.nodes import CastNodes
from penstock.metrics.casts.reports import CastReports
from penstock.trace.cast_words import CastKind, CastPart, Direction
from penstock.trace.records import CastReport, Row
from tests.metrics.casts.made import node, report
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts

SENT, RECEIVED = Direction.SENT, Direction.RECEIVED
ROWS: list[Row] = [
    report(CastPart.SUBSCRIBER, SENT, 10),
    report(CastPart.SUBSCRIBER, SENT, 6),
    report(CastPart.SUBSCRIBER, SENT, 4, kind=CastKind.DONE),
    report(CastPart.SUBSCRIBER, SENT, 99, kind=CastKind.READY),
    report(CastPart.RELAY, RECEIVED, 15),
    report(CastPart.RELAY, SENT, 2),
    # One from a subscriber without a relay above it; 4 packets are asked for in all.
    CastReport("p", CastPart.PUBLISHER, RECEIVED, CastKind.NEEDS, 3, 180, 4),
    CastReport("p", CastPart.PUBLISHER, RECEIVED, CastKind.READY, 99, 9_900, 0),
]


def test_reports_are_counted_by_who_makes_and_who_receives_them() -> None:
    values = values_of(measure_rows(ROWS, [CastReports]))
    assert values == {
        "reports_sent.publisher": 0,
        "reports_sent.relay": 2,
        "reports_sent.subscriber": 20,
        "reports_received.publisher": 3,
        "reports_received.relay": 15,
        "reports_received.subscriber": 0,
        "aggregation.messages": pytest.approx(1 - 3 / 20),
        "aggregation.bytes": pytest.approx(1 - 180 / 1_000),
        "aggregation.packets": pytest.approx(1 - 4 / 60),
    }


def test_without_reports_of_subscribers_nothing_is_aggregated() -> None:
    values = values_of(measure_rows(ROWS[3:], [CastReports]))
    assert values["reports_received.publisher"] == 3
    assert not [name for name in values if name.startswith("aggregation")]
    assert not measure_rows([], [CastReports]).values


def test_relays_are_counted_and_filters_added_up() -> None:
    rows = [
        node(9, part=CastPart.PUBLISHER, filters=2),
        node(5, part=CastPart.RELAY, filters=1),
        node(5, part=CastPart.RELAY, filters=3),
        node(7),
    ]
    assert values_of(measure_rows(rows, [CastNodes])) == {"cast_relays": 2, "cast_filters": 6}
    assert not measure_rows([], [CastNodes]).values


def test_parts_of_a_run_add_up() -> None:
    rows = [*ROWS, node(5, part=CastPart.RELAY, filters=3)]
    for metric in (CastReports, CastNodes):
        whole = measure_rows(rows, [metric])
        assert measure_parts([rows, []], metric).values == whole.values
