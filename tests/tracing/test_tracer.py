"""Facts of machines in, rows out; no simulator, no socket, no clock."""

from __future__ import annotations

import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Instant
from penstock.kernel.sequence import STAMP
from penstock.overlay.facts import RoutingDecision
from penstock.trace.fates import MissingState, ReceiverFate
from penstock.trace.records import (
    Arrival,
    Expected,
    Feedback,
    Hop,
    Loss,
    Publication,
    Repair,
    Request,
    Row,
    Signal,
)
from penstock.trace.records import Delivery as DeliveryRow
from penstock.tracing.names import Names
from penstock.tracing.publication_times import RecordedTimes
from penstock.tracing.tracer import Tracer
from penstock.transport.congestion.facts import FlowReport
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Sent, Unseen
from penstock.transport.settings import constant
from penstock.wire.frames.data import Data, MessageId
from tests.frames import data
from tests.tracing.facts import CONTROL_FRAMES, feedback, repair, request
from tests.tracing.rows import NAMES, ListSink
from tests.transport.harness import Receiver, published

MESSAGE = data(0, {"n": 1})
# A fact of each type that gives rows of one table, and the table.
FACTS: list[tuple[object, type[Row]]] = [
    (Delivery(1, MESSAGE, 20, 20, None, ReceiverFate.DELIVERED), DeliveryRow),
    (
        Absence(
            1, MessageId(1, 1, 0), 10, "record", 10, MissingState.LOST, ReceiverFate.GIVEN_UP, 20
        ),
        Loss,
    ),
    (DroppedAtSource(Message({"n": 1}), 20), Publication),
    (request(), Request),
    (repair(), Repair),
    (feedback(FlowReport("a", 3.0, 4.0, True)), Feedback),
    *[(fact, Signal) for fact in CONTROL_FRAMES.values()],
    (RoutingDecision("entered", None, MESSAGE), Hop),
]


def tracer(sink: ListSink) -> Tracer:
    return Tracer(
        sink,
        names=NAMES,
        times=RecordedTimes(),
        orderings={"far": {1: "waits"}},
        brokers_between=lambda _publisher, _subscriber: 2,
    )


@pytest.mark.parametrize(("fact", "table"), FACTS)
def test_each_fact_becomes_a_row_of_its_table(fact: object, table: type[Row]) -> None:
    sink = ListSink()
    trace = tracer(sink)
    trace.on_published(MESSAGE, now=5)
    before = len(sink.rows)
    trace.on_fact("far", fact, now=20)
    assert [type(row) for row in sink.rows[before:]] == [table]


@pytest.mark.parametrize("fact", [fact for fact, _ in FACTS])
def test_a_table_that_is_not_collected_gets_no_rows(fact: object) -> None:
    sink = ListSink(Expected)
    trace = tracer(sink)
    trace.on_published(MESSAGE, now=5)
    trace.on_fact("far", fact, now=20)
    trace.on_arrived("far", MESSAGE, now=20)
    trace.on_fact("far", MESSAGE, now=20)
    trace.on_queued_at_end("writer", Message({}), 5, now=30)
    assert sink.rows == []


def test_a_message_sent_after_a_wait_is_a_publication_with_its_expected_receivers() -> None:
    sink = ListSink()
    trace = tracer(sink)
    trace.expectations.add_subscriber("far", parse("n = 1"))
    trace.on_fact("writer", Sent(MESSAGE, 30), now=100)
    publication, expected = sink.rows
    assert isinstance(publication, Publication)
    assert (publication.offered_ns, publication.published_ns) == (70, 100)
    assert expected == Expected("writer", 1, 0, "far", 100)


def test_without_a_transport_an_arrival_is_a_delivery() -> None:
    sink = ListSink(Arrival, DeliveryRow)
    trace = tracer(sink)
    trace.on_published(MESSAGE, now=5)
    trace.on_fact("near", MESSAGE, now=20)
    delivered = ReceiverFate.DELIVERED
    assert sink.rows == [
        Arrival("near", "writer", 1, 0, 5, 20, 2, False),
        DeliveryRow("off", "near", "writer", 1, 0, 5, 20, 20, None, delivered),
    ]


@pytest.mark.parametrize("record", [Arrival, DeliveryRow])
def test_of_arrival_and_delivery_either_may_be_left_out(record: type[Row]) -> None:
    sink = ListSink(record)
    trace = tracer(sink)
    trace.on_published(MESSAGE, now=5)
    trace.on_fact("near", MESSAGE, now=20)
    assert [type(row) for row in sink.rows] == [record]


def test_of_frames_that_arrive_below_the_transport_only_messages_are_arrivals() -> None:
    sink = ListSink(Arrival)
    trace = tracer(sink)
    trace.on_published(MESSAGE, now=5)
    trace.on_arrived("far", request().request, now=20)
    trace.on_arrived("far", MESSAGE, now=20)
    assert sink.rows == [Arrival("far", "writer", 1, 0, 5, 20, 2, False)]


def test_arrivals_have_their_publication_times_though_no_publication_is_collected() -> None:
    sink = ListSink(Arrival)
    trace = tracer(sink)
    trace.on_fact("writer", Sent(MESSAGE), now=5)
    trace.on_arrived("far", MESSAGE, now=20)
    assert [row.published_ns for row in sink.of(Arrival)] == [5]


def test_a_count_of_messages_without_ids_gives_no_row() -> None:
    sink = ListSink()
    tracer(sink).on_fact("far", Unseen(1, 1, 1, 3, 10, 20), now=20)
    assert sink.rows == []


def test_an_unknown_fact_is_our_bug() -> None:
    with pytest.raises(AssertionError, match="far reports 'news'"):
        tracer(ListSink()).on_fact("far", "news", now=20)


class FrameTimes:
    """What a node alone can know: the timestamps of frames, on a clock shared with publishers."""

    def on_published(self, frame: Data, now: Instant) -> None:
        pass

    def published_ns(self, frame: Data, now: Instant) -> Instant:
        return STAMP.unwrap(frame.send_ts_us, now // MICROSECOND) * MICROSECOND


def test_a_node_alone_is_traced_from_its_facts_and_frames() -> None:
    # The transport of one node and no more: no publisher, and nobody who knows all.
    latch = 5 * MILLISECOND
    receiver = Receiver(ordering=constant(latch, record_used=4))
    sink = ListSink()
    trace = Tracer(
        sink,
        names=Names({receiver.endpoint.endpoint_id: "me"}),
        times=FrameTimes(),
        orderings={"me": {receiver.subscription: "ordered"}},
        brokers_between=lambda _publisher, _subscriber: 0,
    )
    # A message each millisecond; the second is lost.
    for frame in published([1, 1, 1]):
        if frame.seq != 1:
            at = frame.seq * MILLISECOND + SECOND
            receiver.hear(frame, at=at)
            trace.on_arrived("me", frame, now=at)
    receiver.wait_for_all()
    receiver.endpoint.unsubscribe(receiver.subscription, now=receiver.now)
    receiver.drain()
    for fact in receiver.receipts:
        trace.on_fact("me", fact, now=fact.resolved_ns)
    for absence in receiver.absences:
        trace.on_fact("me", absence, now=absence.ended_ns)
    assert [
        (row.publisher, row.seq, row.published_ns, row.arrived_ns) for row in sink.of(Arrival)
    ] == [("1", 0, 0, SECOND), ("1", 2, 2 * MILLISECOND, SECOND + 2 * MILLISECOND)]
    assert [
        (row.ordering, row.subscriber, row.seq, row.published_ns, row.delivered_ns)
        for row in sink.of(DeliveryRow)
    ] == [
        ("ordered", "me", 0, 0, SECOND),
        ("ordered", "me", 2, 2 * MILLISECOND, SECOND + 2 * MILLISECOND + latch),
    ]
    assert [(row.publisher, row.seq, row.resolution) for row in sink.of(Loss)] == [
        ("1", 1, "given_up")
    ]
