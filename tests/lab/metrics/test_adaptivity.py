"""One pair over time."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.adaptivity import Adaptivity
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Publication
from penstock.transport.order.delay_law import tail
from tests.lab.metrics.batches import context, delivery, feed


def published(seq: int, at: int, publisher: str = "p-1") -> Publication:
    return Publication(publisher, 0, seq, at, at, 100, PublisherFate.SENT, "data")


def test_rate_and_latches_are_given_by_second_of_one_pair() -> None:
    metric = Adaptivity(context("on", seconds=3, pair=("p", "s")))
    feed(metric, [published(seq, seq * SECOND // 2) for seq in range(5)])
    feed(metric, [published(0, 0, "p-2")])
    rows = [
        delivery("on", 0, 100, 100),
        delivery("on", 1, 1100, 1110, latch_ms=30, published_ms=1000),
        delivery("on", 2, 2200, 2210, latch_ms=10, published_ms=1999),
        delivery("on", 3, 2300, 2310, latch_ms=99, published_ms=2000, who=("p-1", "s-2")),
    ]
    feed(metric, rows)
    seen = metric.of_orderings()["on"]
    assert metric.series()["pair_publications"] == [2, 2, 1]
    assert seen.series["pair_held"] == [0, 2, 0]
    assert seen.series["pair_latch_mean_ms"] == [0, 20, 0]
    assert seen.series["pair_latch_max_ms"] == [0, 30, 0]
    assert seen.figures["pair_latch_mean"].value == 20


def test_the_chance_of_a_violation_is_the_estimators() -> None:
    metric = Adaptivity(context("on", seconds=2, pair=("p", "s")))
    gap = 10 * MILLISECOND
    # Delays do not vary: what is left of the scale is the prior's 5 ms, weighted down.
    rows = [
        Arrival("s-1", "p-1", 0, seq, seq * gap, seq * gap + MILLISECOND, 1, False)
        for seq in (0, 1, 3)
    ]
    feed(metric, rows)
    scales_ms = [5, 5 * 5 / 6]
    chances = [tail(10 / scales_ms[0]), tail(20 / scales_ms[1])]
    assert metric.series()["pair_violation_chance"] == pytest.approx([sum(chances) / 2, 0])
    assert metric.series()["pair_out_of_order"] == [0, 0]
    late = Arrival("s-1", "p-1", 0, 2, 2 * gap, 1500 * MILLISECOND, 1, False)
    feed(metric, [late])
    assert metric.series()["pair_out_of_order"] == [1, 0]
