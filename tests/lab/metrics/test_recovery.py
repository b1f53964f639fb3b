"""Lost, asked for and got back, counted by hand."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.recovery import Recovery
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import (
    CacheSample,
    Delivery,
    Expected,
    Publication,
    Repair,
    Request,
    Row,
    Signal,
)
from tests.lab.metrics.batches import context, feed, values


def wanted(seq: int) -> list[Row]:
    at = seq * SECOND
    return [
        Publication("p-1", 0, seq, at, at, 100, PublisherFate.SENT, "data"),
        Expected("p-1", 0, seq, "s-1", at),
    ]


def delivered(
    seq: int,
    after_ms: int,
    fate: ReceiverFate = ReceiverFate.DELIVERED,
    *,
    ordering: str = "on",
) -> Delivery:
    at = seq * SECOND
    came = at + after_ms * MILLISECOND
    ended = None if fate is ReceiverFate.DROPPED_LATE else came
    return Delivery(ordering, "s-1", "p-1", 0, seq, at, came, ended, None, fate)


def request(who: str, seq: int, at_ms: int, round_: int = 0) -> Request:
    return Request(who, "p-1", 0, seq, at_ms * MILLISECOND, round_, 60)


def repair(who: str, seq: int, at_ms: int) -> Repair:
    at = at_ms * MILLISECOND
    return Repair(who, "s-1", "p-1", 0, seq, at, at, False, 140)


def seen(rows: list[Row]) -> tuple[dict[str, float], dict[str, list[float]]]:
    metric = Recovery(context("on", seconds=5))
    feed(metric, rows)
    return {name: figure.value for name, figure in metric.figures().items()}, metric.series()


def applications(
    rows: list[Row], *orderings: str
) -> dict[str, tuple[dict[str, float], dict[str, list[float]]]]:
    metric = Recovery(context(*orderings or ("on",), seconds=5))
    feed(metric, rows)
    return {name: (values(seen), seen.series) for name, seen in metric.of_orderings().items()}


def test_orderings_do_not_make_up_for_each_other() -> None:
    rows = [row for seq in range(5) for row in wanted(seq)]
    rows += [delivered(seq, 100, ordering="on") for seq in range(5)]
    rows += [delivered(seq, 100, ordering="off") for seq in (0, 1)]
    found = applications(rows, "on", "off")
    assert [found[name][0]["false_negatives"] for name in ("on", "off")] == [0, 3]


def test_a_delivery_twice_does_not_make_up_for_another() -> None:
    rows = [*wanted(0), *wanted(1), delivered(0, 100), delivered(0, 200)]
    assert applications(rows)["on"][0]["false_negatives"] == 1


def test_what_applications_got_is_not_missed_whoever_sent_it() -> None:
    rows = [row for seq in range(4) for row in wanted(seq)]
    rows += [
        delivered(0, 100),
        delivered(1, 900, ReceiverFate.REPAIRED),
        delivered(2, 300, ReceiverFate.DROPPED_LATE),
    ]
    figures, _ = seen(rows)
    missed, missed_series = applications(rows)["on"]
    assert missed["false_negatives"] == 2
    assert missed["false_negative_ratio"] == 0.5
    assert missed["false_negative_rate"] == 2 / 5
    assert missed["recovered_share"] == 1 / 3
    assert missed_series["false_negatives"] == [0, 0, 1, 1, 0]
    assert figures["repaired"] == 1
    assert (figures["delivery_delay_mean"], figures["repaired_delay_p50"]) == (100, 900)
    assert figures["frame_bytes"] == 100


def test_where_nothing_was_asked_for_counts_are_0_and_shares_are_absent() -> None:
    figures, _ = seen([*wanted(0), delivered(0, 100)])
    counts = ("requests", "repairs", "messages_asked_for", "messages_repaired", "recovery_bytes")
    assert [figures[name] for name in counts] == [0] * 5
    assert not {"hit_ratio", "requests_not_duplicated", "request_to_repair_p50"} & {*figures}


def test_headers_and_signals_are_what_finding_losses_costs() -> None:
    rows: list[Row] = [
        Publication("p-1", 0, seq, 0, 0, 150, PublisherFate.SENT, "data", 40) for seq in range(4)
    ]
    rows += [Signal("p-1", "p-1", "digest", 1, 100), Signal("s-1", "p-1", "recall", 2, 20)]
    rows += [repair("p-1", 0, 1100), repair("p-1", 0, 1200), repair("p-1", 1, 1200)]
    figures, _ = seen(rows)
    assert figures["frame_bytes"] == 150
    assert figures["header_bytes"] == 40 + 30
    # Who recalls by a flow's numbers makes no request.
    assert (figures["repairs"], figures["messages_repaired"]) == (3, 2)
    assert figures["recovery_bytes"] == 3 * 140 / 4
    assert figures["requests"] == 0


def test_what_is_sent_again_because_it_was_lost_is_no_duplicate() -> None:
    rows: list[Row] = [*wanted(0), *wanted(1)]
    rows += [request("s-1", 0, 1000), request("s-2", 0, 1010), request("s-1", 0, 2000, 1)]
    rows += [request("s-1", 1, 3000)]
    rows += [repair("p-1", 0, 1100), repair("s-3", 0, 2100), repair("s-3", 0, 2101)]
    rows += [repair("s-4", 0, 2102)]
    figures, series = seen(rows)
    assert figures["requests"] == 4
    assert figures["requests_not_duplicated"] == 3 / 4
    assert figures["repairs_not_duplicated"] == 3 / 4
    assert figures["messages_asked_for"] == 2
    assert figures["hit_ratio"] == 0.5
    assert figures["request_to_repair_p50"] == 100
    assert figures["recovery_bytes"] == (4 * 60 + 4 * 140) / 2
    assert series["requests"] == [0, 2, 1, 1, 0]


def test_caches_are_those_of_the_experiment() -> None:
    rows: list[Row] = [
        CacheSample(at * SECOND, "s-1", "p-1", 1, limit, 100, 0, 0)
        for at, limit in ((0, 99), (1, 5), (2, 15))
    ]
    figures, _ = seen(rows)
    assert (figures["cache_limit_mean"], figures["cache_limit_max"]) == (10, 15)
