from penstock.content.message import Message
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Publication
from penstock.tracing.publications import Publications
from penstock.transport.facts import DroppedAtSource
from penstock.wire import size_of
from penstock.wire.codec.message import size_message
from tests.frames import data
from tests.tracing.rows import NAMES, ListSink


def test_a_message_that_leaves_at_once_is_sent() -> None:
    sink = ListSink()
    frame = data(3, {"n": 1})
    Publications(sink.add, NAMES).on_sent(frame, 0, now=100)
    (row,) = sink.of(Publication)
    assert (row.publisher, row.epoch, row.seq) == ("writer", 1, 3)
    assert (row.offered_ns, row.published_ns, row.fate) == (100, 100, PublisherFate.SENT)
    assert row.size_bytes == size_of(frame)
    assert row.size_bytes - row.header_bytes == size_message(frame.message)


def test_a_message_that_waited_is_rate_limited_and_was_offered_before() -> None:
    sink = ListSink()
    Publications(sink.add, NAMES).on_sent(data(3, {"n": 1}), 40, now=100)
    (row,) = sink.of(Publication)
    assert (row.offered_ns, row.published_ns) == (60, 100)
    assert row.fate is PublisherFate.RATE_LIMITED


def test_a_message_that_never_left_has_no_number() -> None:
    sink = ListSink()
    publications = Publications(sink.add, NAMES)
    message = Message({"n": 1})
    # The publisher's clock says 7; only how long it waited counts.
    publications.on_dropped("writer", DroppedAtSource(message, 7, 5), now=100)
    publications.on_queued_at_end("writer", message, 20, now=200)
    dropped, queued = sink.of(Publication)
    assert dropped.fate is PublisherFate.DROPPED_AT_SOURCE
    assert queued.fate is PublisherFate.RATE_LIMITED
    assert (dropped.offered_ns, queued.offered_ns) == (95, 180)
    for row in (dropped, queued):
        assert (row.publisher, row.seq, row.published_ns) == ("writer", None, None)
        assert row.size_bytes == size_message(message)
