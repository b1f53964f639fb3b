from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.records import Repair, Request
from penstock.tracing.recovery import Recovery
from penstock.wire import size_of
from tests.tracing.facts import repair, request
from tests.tracing.rows import NAMES, ListSink


def test_a_request_names_what_is_missing_and_the_round() -> None:
    sink = ListSink()
    sent = request(round_=2)
    Recovery(sink.add, NAMES).on_request("far", sent, now=100)
    assert sink.rows == [Request("far", "writer", 1, 5, 100, 2, size_of(sent.request))]


def test_a_repair_was_requested_as_long_before_as_it_was_held() -> None:
    sink = ListSink()
    sent = repair(hold_100us=50)
    Recovery(sink.add, NAMES).on_repair("near", sent, now=SECOND)
    requested_ns, size_bytes = SECOND - 5 * MILLISECOND, size_of(sent.repair)
    assert sink.rows == [
        Repair("near", "far", "writer", 1, 5, requested_ns, SECOND, False, size_bytes)
    ]


def test_a_repair_to_one_endpoint_is_unicast() -> None:
    sink = ListSink()
    Recovery(sink.add, NAMES).on_repair("near", repair(to=2), now=SECOND)
    assert sink.of(Repair)[0].is_unicast


def test_a_requester_without_a_name_is_written_as_a_number() -> None:
    sink = ListSink()
    Recovery(sink.add, NAMES).on_repair("near", repair(requester=77), now=SECOND)
    assert sink.of(Repair)[0].requester == "77"
