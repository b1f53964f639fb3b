"""What kernels say of recovery, on traces small enough to be counted by hand."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import CacheSample, Delivery, Publication, Repair, Request, Signal
from tests.pipeline.kernels.brute import Key
from tests.pipeline.kernels.test_measure import found_in
from tests.pipeline.kernels.traces import trace

METRICS = ["repaired", "recovery", "caches"]


def request(who: str, seq: int, at_ms: int, round_: int = 0) -> Request:
    return Request(who, "p-1", 0, seq, at_ms * MILLISECOND, round_, 70)


def repair(seq: int, at_ms: int) -> Repair:
    at = at_ms * MILLISECOND
    return Repair("p-1", "s-1", "p-1", 0, seq, at, at, False, 130)


def network(found: dict[Key, float], metric: str) -> float:
    return found["figures", "", metric, None]


def test_what_is_asked_or_sent_again_because_it_was_lost_is_no_duplicate() -> None:
    rows = [
        # The second asks in vain; the first asks once more, since its request was lost.
        *(request("s-1", 1, 10), request("s-2", 1, 15), request("s-1", 1, 90, 1)),
        # One for each request would do, the fourth is too much.
        *(repair(1, 30), repair(1, 31), repair(1, 95), repair(1, 96)),
    ]
    found = found_in(trace(*rows), metrics=METRICS, piece_rows=2)
    assert network(found, "requests_not_duplicated") == pytest.approx(2 / 3)
    assert network(found, "repairs_not_duplicated") == pytest.approx(3 / 4)
    assert network(found, "request_to_repair_mean") == 20


def test_hits_are_messages_and_belong_to_the_second_of_their_first_request() -> None:
    rows = [
        request("s-1", 1, 900),
        request("s-1", 2, 950),
        request("s-2", 1, 1100),
        repair(1, 1200),
    ]
    found = found_in(trace(*rows), metrics=METRICS)
    assert network(found, "hit_ratio") == 0.5
    for metric, by_second in (("messages_asked_for", (2, 0)), ("messages_answered", (1, 0))):
        assert tuple(found["seconds", "", metric, second] for second in (0, 1)) == by_second


def test_repairs_that_nobody_asked_for_cost_bytes_and_hit_nothing() -> None:
    sent = Publication("p-1", 0, 1, 0, 0, 200, PublisherFate.SENT, "data", 50)
    rows = [sent, repair(1, 30), Signal("s-1", "p-1", "track", 0, 30)]
    found = found_in(trace(*rows, recorded=[Request]), metrics=METRICS)
    assert network(found, "recovery_bytes") == 130
    assert network(found, "header_bytes") == 80
    assert network(found, "frame_bytes") == 200
    assert not {"hit_ratio", "repairs_not_duplicated", "request_to_repair_mean"} & {
        metric for _, _, metric, _ in found
    }


def test_a_repair_is_no_original() -> None:
    fates = {1: ReceiverFate.DELIVERED, 2: ReceiverFate.REPAIRED, 3: ReceiverFate.GIVEN_UP}
    rows = [
        Delivery("default", "s-1", "p-1", 0, seq, 0, None, seq * SECOND, None, fate)
        for seq, fate in fates.items()
    ]
    found = found_in(trace(*rows), metrics=METRICS)
    of_ordering = {key[2]: value for key, value in found.items() if key[0] == "figures"}
    assert of_ordering["repaired"] == 1
    assert (of_ordering["delivery_delay_max"], of_ordering["repaired_delay_max"]) == (1000, 2000)


def test_a_limit_belongs_to_the_second_that_its_sample_ends() -> None:
    samples = [(0, 99), (SECOND, 5), (SECOND, 15), (3 * SECOND, 40)]
    rows = [CacheSample(at, "s-1", "p-1", 0, limit, 0, 0, 0) for at, limit in samples]
    found = found_in(trace(*rows, duration_ns=2 * SECOND), metrics=METRICS)
    assert found["seconds", "", "cache_limit_mean", 0] == 10
    assert ("seconds", "", "cache_limit_mean", 1) not in found, "it was not sampled then"
    assert network(found, "cache_limit_max") == 40, "while the run drained"
    assert network(found, "cache_limit_min") == 5, "none of before it began"
