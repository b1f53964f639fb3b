"""Messages sent, delivered and missed, counted by hand."""

from __future__ import annotations

from dataclasses import replace

from penstock.lab.experiment import MeasurePart
from penstock.lab.metrics.rates import Rates
from tests.lab.metrics.batches import arrival, context, expected, feed, values


def test_an_arrival_twice_does_not_make_up_for_another() -> None:
    measure = MeasurePart(metrics=[], phases={"early": (0, 1), "late": (1, 2)})
    metric = Rates(replace(context(seconds=2), measure=measure))
    rows = [expected(0, at_ms=100), expected(1, at_ms=200), expected(2, at_ms=1100)]
    feed(metric, [*rows, arrival(0, 150), arrival(0, 160), arrival(2, 1200)])
    found = values(metric.figures())
    assert (found["expected"], found["deliveries"], found["false_negatives"]) == (3, 3, 1)
    assert found["false_negative_ratio"] == 1 / 3
    phases = [found[f"false_negative_ratio.{name}"] for name in ("early", "late")]
    assert phases == [0.5, 0]
    assert metric.series()["false_negatives"] == [1, 0]


def test_what_nobody_expected_does_not_make_up_for_a_loss() -> None:
    metric = Rates(context(seconds=2))
    feed(metric, [expected(0), arrival(0, 150, epoch=1)])
    assert values(metric.figures())["false_negatives"] == 1
