"""What publishers hold back and hear, what links lose and how long queues are, told apart."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import DropReason, PublisherFate
from penstock.trace.records import (
    Arrival,
    Drop,
    Edge,
    Expected,
    Feedback,
    FlowSample,
    LinkSample,
    Publication,
    QueueSample,
    Signal,
)
from tests.pipeline.kernels.brute import Key
from tests.pipeline.kernels.test_measure import found_in
from tests.pipeline.kernels.traces import trace

METRICS = ["congestion", "receivers", "links", "queues", "drops", "effairness"]


def publication(seq: int | None, offered_ms: int, sent_ms: int | None) -> Publication:
    sent = None if sent_ms is None else sent_ms * MILLISECOND
    fate = PublisherFate.SENT if offered_ms == sent_ms else PublisherFate.RATE_LIMITED
    if sent is None:
        fate = PublisherFate.DROPPED_AT_SOURCE
    return Publication("p-1", 0, seq, offered_ms * MILLISECOND, sent, 250, fate, "data", 50)


def feedback(who: str, flow: str, at_ms: int) -> Feedback:
    at = at_ms * MILLISECOND
    return Feedback(who, "p-1", flow, at, 20 * MILLISECOND, 0.01, 90.0, 80.0, 40.0, True, 60)


def flow(name: str, at_s: int, quota: float, sent: float) -> FlowSample:
    return FlowSample(at_s * SECOND, "p-1", name, "s-1", quota, sent, 2)


def drop(reason: DropReason, at_ms: int, publisher: str | None = "p-1") -> Drop:
    return Drop(at_ms * MILLISECOND, "B1-B2", reason, "data", 250, 1, 1, 1, publisher, 0, 1)


def network(found: dict[Key, float], metric: str) -> float:
    return found["figures", "", metric, None]


def seconds(found: dict[Key, float], metric: str) -> list[float]:
    return [found["seconds", "", metric, second] for second in (0, 1)]


def test_what_is_held_back_or_dropped_at_the_source_is_not_lost_in_the_network() -> None:
    rows = [
        *(publication(1, 10, 10), publication(2, 900, 1200), publication(None, 950, None)),
        # One message of ours; what came twice and what was no message is no loss.
        drop(DropReason.QUEUE_FULL, 1300),
        *(drop(DropReason.DUPLICATE, 1300), drop(DropReason.QUEUE_FULL, 1300, None)),
    ]
    found = found_in(trace(*rows), metrics=METRICS, piece_rows=2)
    told = [network(found, m) for m in ("offered", "sent", "rate_limited", "dropped_at_source")]
    assert told == [3, 2, 1, 1]
    assert seconds(found, "offered") == [3, 0]
    assert seconds(found, "sent") == [1, 1], "when it left, not when it was offered"
    assert seconds(found, "dropped_at_source") == [1, 0]
    assert (network(found, "lost"), network(found, "lost.queue_full")) == (1, 1)
    assert network(found, "drops.queue_full") == 2
    assert seconds(found, "lost.queue_full") == [0, 1]
    assert ("seconds", "", "lost.ttl", 0) not in found, "there was none"


def test_a_frame_of_feedback_is_one_however_many_flows_it_names() -> None:
    rows = [
        publication(1, 10, 10),
        *(feedback("s-1", "a = 1", 100), feedback("s-1", "a = 2", 100)),
        *(feedback("s-2", "a = 1", 100), feedback("s-1", "a = 1", 1100)),
        *(Signal("s-1", "p-1", kind, 0, 30) for kind in ("ack", "echorequest", "ack")),
    ]
    found = found_in(trace(*rows), metrics=METRICS, piece_rows=1)
    assert network(found, "feedback_frames") == 3
    assert network(found, "feedback_rate") == 1.5, "a second, at one publisher"
    assert seconds(found, "feedback.p-1") == [2, 1]
    assert network(found, "ack_rate") == 1, "apart"
    assert seconds(found, "ack.p-1") == [2, 0]


def test_flows_are_counted_in_the_second_that_their_sample_ends() -> None:
    rows = [
        *(flow("a = 1", 1, 10, 8), flow("a = 2", 1, 30, 6)),
        flow("a = 1", 2, 20, 16),
        # Before the run and after it.
        *(flow("a = 9", 0, 1, 1), flow("a = 9", 3, 1, 1)),
    ]
    found = found_in(trace(*rows), metrics=METRICS)
    assert seconds(found, "flow_table.p-1") == [2, 1]
    assert (network(found, "flow_table_mean"), network(found, "flow_table_max")) == (1.5, 2)
    assert found["pairs", "", "flow_quota_mps", ("a = 1", "p-1")] == 15
    assert found["pairs", "", "flow_sent_mps", ("a = 1", "p-1")] == 12
    assert network(found, "quota_use") == 0.5


def test_what_waits_before_the_bottleneck_is_told_in_time() -> None:
    def samples(at_s: int, held: int, rate: int) -> list[LinkSample | QueueSample]:
        at = at_s * SECOND
        return [
            LinkSample(at, "B1-B2", SECOND, rate, rate // 8, 9, 0, 0, 0, 0),
            QueueSample(at, "B1-B2", 3, held, None),
        ]

    idle = [LinkSample(SECOND, "B2-B1", SECOND, 8000, 1, 1, 0, 0, 0, 0),
            QueueSample(SECOND, "B2-B1", 0, 0, None)]  # fmt: skip
    # The link is halved: as many bytes wait twice as long.
    rows = [*samples(1, 100, 8000), *samples(2, 100, 4000), *idle]
    found = found_in(trace(*rows), metrics=METRICS)
    assert network(found, "queue_delay_mean.B1-B2") == 150
    assert network(found, "queue_delay_mean") == 150
    assert network(found, "queue_delay_p95") == pytest.approx(195)
    assert seconds(found, "link_kbps.B1-B2") == [8, 4]
    assert seconds(found, "link_capacity_kbps.B1-B2") == [8, 4]
    assert ("seconds", "", "link_kbps.B2-B1", 0) not in found, "it was never half full"


def test_many_receivers_have_rates_and_no_seconds() -> None:
    rows = [Arrival(f"s-{n}", "p-1", 0, 1, 0, 1, 2, False) for n in range(13)]
    found = found_in(trace(*rows), metrics=METRICS)
    assert found["pairs", "", "received_mps", ("s-12", "p-1")] == 0.5
    assert not [key for key in found if key[2].startswith("received.")]
    found = found_in(trace(*rows[:12]), metrics=METRICS)
    assert seconds(found, "received.s-11") == [1, 0]


def served(held_back: int, rate_bps: int = 100_000, *, sampled_bps: int | None = None) -> float:
    """The effairness of one receiver that gets 11 messages of 250 B in a second."""
    rows = [
        *(publication(seq, 100 * seq, 100 * seq) for seq in range(11)),
        *(publication(None, 500, None) for _ in range(held_back)),
        *(Expected("p-1", 0, seq, "s-1", 100 * seq * MILLISECOND) for seq in range(11)),
        *(Arrival("s-1", "p-1", 0, n, 100 * n * MILLISECOND, 100 * n * MILLISECOND, 1, False)
          for n in range(11)),
        *(Edge("p-1", "B1", None, 0), Edge("B1", "s-1", rate_bps, 0)),
    ]  # fmt: skip
    if sampled_bps is not None:
        rows += [LinkSample(SECOND, "B1-s-1", SECOND, sampled_bps, 0, 0, 0, 0, 0, 0)]
    return network(found_in(trace(*rows), metrics=METRICS), "effairness")


def test_who_is_held_back_for_nothing_is_served_worse() -> None:
    assert served(0) == pytest.approx(1)
    assert served(11) == pytest.approx(0.5), "the link would have borne as much again"
    assert served(11, 22_000) == pytest.approx(1), "it would not"


def test_a_link_that_changes_counts_with_its_mean() -> None:
    assert served(11, 22_000, sampled_bps=44_000) == pytest.approx(0.5)
    assert served(11, 100_000, sampled_bps=22_000) == pytest.approx(1)
