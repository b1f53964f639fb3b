"""One pair over time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.adaptivity import Adaptivity
from penstock.metrics.run_info import RunInfo
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Publication
from penstock.transport.order.delay_law import tail
from tests.metrics.measured import measure_rows, series_of, values_of

TABLES = ("publications", "arrivals", "deliveries")
GAP = 10 * MILLISECOND


def run_of(seconds: int) -> RunInfo:
    return RunInfo(
        id="test",
        origin=0,
        duration=seconds * SECOND,
        orderings=("on",),
        measure={"pair": ["p", "s"]},
        groups={"p": ["p-1", "p-2"], "s": ["s-1", "s-2"]},
    )


def published(seq: int, at: int, publisher: str = "p-1") -> Publication:
    return Publication(publisher, 0, seq, at, at, 100, PublisherFate.SENT, "data")


def arrived(seq: int, *, epoch: int = 0, at: int | None = None) -> Arrival:
    left = seq * GAP
    came = left + MILLISECOND if at is None else at
    return Arrival("s-1", "p-1", epoch, seq, left, came, 1, False)


def delivered(
    seq: int, published_ms: int, latch_ms: int | None, *, to: str = "s-1", ordering: str = "on"
) -> Delivery:
    left = published_ms * MILLISECOND
    latch_ns = None if latch_ms is None else latch_ms * MILLISECOND
    came = left + 100 * MILLISECOND
    fate = ReceiverFate.DELIVERED
    return Delivery(ordering, to, "p-1", 0, seq, left, came, came, latch_ns, fate)


def test_rate_and_latches_are_given_by_second_of_one_pair() -> None:
    rows = [
        *(published(seq, seq * SECOND // 2) for seq in range(5)),
        published(0, 0, "p-2"),
        delivered(0, 0, None),
        delivered(1, 1000, 30),
        delivered(2, 1999, 10),
        delivered(3, 2000, 99, to="s-2"),
        # After the end of the experiment.
        delivered(4, 3000, 99),
    ]
    results = measure_rows(rows, [Adaptivity], run=run_of(3), recorded=TABLES)
    assert series_of(results, "pair_publications") == [2, 2, 1]
    assert series_of(results, "pair_held", ordering="on") == [0, 2, 0]
    assert series_of(results, "pair_latch_mean_ms", ordering="on") == [0, 20, 0]
    assert series_of(results, "pair_latch_max_ms", ordering="on") == [0, 30, 0]
    figures = values_of(results, ordering="on")
    assert figures["pair_held"] == 2
    assert (figures["pair_latch_mean"], figures["pair_latch_max"]) == (20, 30)
    assert figures["latch_with_rate"] == pytest.approx(0.5)


def test_an_ordering_that_held_nothing_says_so() -> None:
    rows = [delivered(0, 0, None), delivered(0, 0, None, ordering="other")]
    results = measure_rows(rows, [Adaptivity], run=run_of(3), recorded=TABLES)
    for ordering in ("on", "other"):
        figures = values_of(results, ordering=ordering)
        assert figures == {"pair_held": 0, "pair_latch_max": 0}


def test_the_chance_of_a_violation_is_the_estimators() -> None:
    # Delays do not vary: what is left of the scale is the prior's 5 ms, weighted down.
    rows = [arrived(seq) for seq in (0, 1, 3)]
    scales_ms = [5, 5 * 5 / 6]
    chances = [tail(10 / scales_ms[0]), tail(20 / scales_ms[1])]
    results = measure_rows(rows, [Adaptivity], run=run_of(2), recorded=TABLES)
    assert series_of(results, "pair_violation_chance") == pytest.approx([sum(chances) / 2, 0])
    assert series_of(results, "pair_out_of_order") == [0, 0]
    assert values_of(results)["violation_chance"] == pytest.approx(sum(chances) / 2)
    late = arrived(2, at=1500 * MILLISECOND)
    results = measure_rows([*rows, late], [Adaptivity], run=run_of(2), recorded=TABLES)
    assert series_of(results, "pair_out_of_order") == [1, 0]


def test_numbers_of_a_publisher_that_restarts_are_not_out_of_order() -> None:
    rows = [
        *(arrived(seq) for seq in range(3)),
        *(arrived(seq, epoch=1, at=100 * MILLISECOND + seq) for seq in range(3)),
    ]
    results = measure_rows(rows, [Adaptivity], run=run_of(1), recorded=TABLES)
    assert series_of(results, "pair_out_of_order") == [0]


def test_a_late_message_published_outside_the_experiment_counts_nowhere() -> None:
    rows = [arrived(seq) for seq in (101, 103)] + [arrived(102, at=2 * SECOND)]
    results = measure_rows(rows, [Adaptivity], run=run_of(1), recorded=TABLES)
    assert series_of(results, "pair_out_of_order") == [0]


def test_without_a_pair_nothing_is_reported() -> None:
    run = replace(run_of(1), measure={})
    results = measure_rows([arrived(0)], [Adaptivity], run=run, recorded=TABLES)
    assert (results.values, results.series) == ({}, {})
