from penstock.content.syntax import parse
from penstock.trace.records import Expected
from penstock.tracing.expectations import Expectations
from tests.frames import data
from tests.tracing.rows import NAMES, ListSink


def test_subscribers_are_expected_in_the_order_in_which_they_came() -> None:
    sink = ListSink()
    expectations = Expectations(sink.add, NAMES)
    for name, text in {"near": "n >= 0", "picky": "n < 0", "far": "n >= 0"}.items():
        expectations.add_subscriber(name, parse(text))
    expectations.on_published(data(4, {"n": 1}), now=100)
    assert sink.rows == [
        Expected("writer", 1, 4, "near", 100),
        Expected("writer", 1, 4, "far", 100),
    ]


def test_a_subscriber_is_expected_to_receive_later_messages_only() -> None:
    sink = ListSink()
    expectations = Expectations(sink.add, NAMES)
    expectations.on_published(data(0, {"n": 1}), now=100)
    expectations.add_subscriber("far", parse("n = 1"))
    expectations.on_published(data(1, {"n": 1}), now=200)
    assert [row.seq for row in sink.of(Expected)] == [1]
