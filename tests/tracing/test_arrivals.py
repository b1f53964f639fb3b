from penstock.trace.records import Arrival
from penstock.tracing.arrivals import Arrivals
from penstock.tracing.publication_times import RecordedTimes
from tests.frames import data
from tests.tracing.rows import NAMES


def test_an_arrival_has_its_publication_time_and_its_distance() -> None:
    times = RecordedTimes()
    frame = data(0, {})
    times.on_published(frame, now=10)
    brokers = {("writer", "far"): 3}
    arrivals = Arrivals(NAMES, times, lambda publisher, subscriber: brokers[publisher, subscriber])
    assert arrivals.row("far", frame, now=50) == Arrival("far", "writer", 1, 0, 10, 50, 3, False)
