from penstock.trace.records import Feedback
from penstock.tracing.congestion import Congestion
from penstock.transport.congestion.facts import FlowReport
from penstock.wire import size_of
from tests.tracing.facts import feedback
from tests.tracing.rows import NAMES, ListSink


def test_each_flow_of_a_report_is_a_row() -> None:
    sink = ListSink()
    report = feedback(FlowReport("a", 3.0, 4.0, True), FlowReport("b", 7.0, 8.0, False))
    Congestion(sink.add, NAMES).on_feedback("far", report, now=100)
    size_bytes = size_of(report.frame)
    assert sink.rows == [
        Feedback("far", "writer", "a", 100, 30, 0.25, 10.0, 12.0, 4.0, True, size_bytes),
        Feedback("far", "writer", "b", 100, 30, 0.25, 10.0, 12.0, 8.0, False, size_bytes),
    ]


def test_a_report_of_no_flow_is_no_row() -> None:
    sink = ListSink()
    Congestion(sink.add, NAMES).on_feedback("far", feedback(), now=100)
    assert sink.rows == []
