import pytest

from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Arrival
from penstock.trace.records import Delivery as DeliveryRow
from penstock.tracing.deliveries import Deliveries
from penstock.tracing.publication_times import RecordedTimes
from penstock.transport.facts import Delivery
from tests.frames import data
from tests.tracing.rows import NAMES, ListSink

# The receiver's clock is ahead of the trace by this much.
AHEAD = 1_000
FRAME = data(0, {})


@pytest.fixture
def sink() -> ListSink:
    return ListSink()


@pytest.fixture
def deliveries(sink: ListSink) -> Deliveries:
    times = RecordedTimes()
    times.on_published(FRAME, now=10)
    return Deliveries(sink.add, NAMES, times, {"far": {1: "off", 2: "waits"}})


def test_times_of_a_delivery_are_those_of_the_trace(sink: ListSink, deliveries: Deliveries) -> None:
    fact = Delivery(2, FRAME, AHEAD + 50, AHEAD + 80, 30, ReceiverFate.DELIVERED)
    deliveries.on_delivery("far", fact, now=80)
    assert sink.rows == [
        DeliveryRow("waits", "far", "writer", 1, 0, 10, 50, 80, 30, ReceiverFate.DELIVERED)
    ]


def test_each_subscription_has_its_ordering(sink: ListSink, deliveries: Deliveries) -> None:
    for subscription in (1, 2):
        fact = Delivery(subscription, FRAME, AHEAD, AHEAD, None, ReceiverFate.REPAIRED)
        deliveries.on_delivery("far", fact, now=80)
    assert [row.ordering for row in sink.of(DeliveryRow)] == ["off", "waits"]


def test_what_was_dropped_late_was_not_delivered(sink: ListSink, deliveries: Deliveries) -> None:
    fact = Delivery(2, FRAME, AHEAD + 50, AHEAD + 50, None, ReceiverFate.DROPPED_LATE)
    deliveries.on_delivery("far", fact, now=50)
    (row,) = sink.of(DeliveryRow)
    assert (row.arrived_ns, row.delivered_ns) == (50, None)
    assert row.fate is ReceiverFate.DROPPED_LATE


def test_what_nothing_orders_is_delivered_as_it_arrives(
    sink: ListSink, deliveries: Deliveries
) -> None:
    deliveries.on_unordered(Arrival("far", "writer", 1, 0, 10, 50, 2, False))
    assert sink.rows == [
        DeliveryRow("off", "far", "writer", 1, 0, 10, 50, 50, None, ReceiverFate.DELIVERED)
    ]
