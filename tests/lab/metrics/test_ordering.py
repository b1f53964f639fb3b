"""What orderings make of the same arrivals."""

from __future__ import annotations

from math import isnan

import pytest

from penstock.lab.metrics.order import Order
from penstock.lab.metrics.ordering import Orderings
from penstock.trace.fates import ReceiverFate
from tests.lab.metrics.batches import arrival, context, delivery, feed, values

OTHER = ("p-2", "s-1")


def test_violations_are_counted_against_what_arrived() -> None:
    metric = Orderings(context("off", "on"))
    came = [(0, 1), (2, 2), (3, 3), (1, 4), (4, 5)]
    feed(metric, [arrival(seq, at) for seq, at in came])
    feed(metric, [delivery("off", seq, at, at) for seq, at in came])
    in_order = [(0, 1, 1), (1, 4, 4), (2, 2, 4), (3, 3, 4), (4, 5, 5)]
    feed(metric, [delivery("on", *row) for row in in_order])
    off, on = (values(seen) for seen in metric.of_orderings().values())
    assert (off["violations"], off["descents"], off["inversions"]) == (1, 1, 2)
    assert off["violations_removed"] == 0
    assert off["extra_delay_mean"] == off["held_share"] == 0
    assert (on["violations"], on["descents"], on["inversions"]) == (0, 0, 0)
    assert on["violations_removed"] == 1
    assert on["held_share"] == 2 / 5
    assert on["extra_delay_mean"] == pytest.approx(3 / 5)


def test_orderings_and_pairs_are_kept_apart_in_one_table() -> None:
    metric = Orderings(context("a", "b"))
    rows = [
        delivery("b", 5, 1, 1),
        delivery("a", 4, 1, 1),
        delivery("a", 3, 1, 1, who=OTHER),
        delivery("b", 6, 1, 2),
        delivery("a", 5, 1, 2),
        delivery("a", 4, 1, 2, who=OTHER),
        delivery("a", 2, 3, 3),
    ]
    feed(metric, rows, batch_rows=2)
    found = {name: values(seen) for name, seen in metric.of_orderings().items()}
    assert [found[name]["violations"] for name in "ab"] == [1, 0]
    assert found["a"]["violation_ratio"] == 1 / 5
    assert found["b"]["extra_delay_mean"] == pytest.approx(0.5)


def test_numbers_begin_anew_when_a_publisher_restarts() -> None:
    rows = [arrival(seq, seq) for seq in range(5)]
    rows += [arrival(seq, 10 + seq, epoch=1) for seq in range(3)]
    order = Order(context("on"))
    feed(order, rows)
    assert order.figures()["violations"].value == 0
    metric = Orderings(context("on"))
    feed(metric, rows)
    feed(metric, [delivery("on", r.seq, 1, 2, epoch=r.epoch) for r in rows])
    # Of the first epoch again: that is one.
    feed(metric, [arrival(2, 20), delivery("on", 2, 20, 20)])
    found = values(metric.of_orderings()["on"])
    assert (found["violations"], found["violations_removed"]) == (1, 0)


def test_a_message_without_a_time_of_arrival_has_no_extra_delay() -> None:
    metric = Orderings(context("on"))
    feed(metric, [arrival(0, 1)])
    feed(metric, [delivery("on", 0, 1, 3), delivery("on", 1, None, 1000, who=OTHER)])
    found = values(metric.of_orderings()["on"])
    assert (found["extra_delay_mean"], found["extra_delay_pairs_max"]) == (2, 2)
    assert found["held_share"] == 1
    assert found["violation_ratio"] == 0


def test_what_was_given_up_is_not_dropped_as_late() -> None:
    metric = Orderings(context("on"))
    rows = [delivery("on", 0, 1, 1)]
    for seq, fate in ((1, ReceiverFate.DROPPED_LATE), (2, ReceiverFate.GIVEN_UP)):
        rows.append(delivery("on", seq, 2, None, fate=fate))
    feed(metric, rows)
    assert values(metric.of_orderings()["on"])["late_drops"] == 1


def test_a_late_message_that_is_dropped_violates_nothing_and_counts_as_dropped() -> None:
    metric = Orderings(context("on"))
    feed(metric, [arrival(1, 1), arrival(0, 2)])
    rows = [
        delivery("on", 1, 1, 1),
        delivery("on", 0, 2, None, fate=ReceiverFate.DROPPED_LATE),
        delivery("on", 2, 3, 3),
    ]
    feed(metric, rows)
    found = values(metric.of_orderings()["on"])
    assert (found["violations"], found["late_drops"]) == (0, 1)
    assert found["violation_ratio"] == 0


def test_quantiles_are_over_pairs_whatever_their_messages() -> None:
    metric = Orderings(context("on"))
    rows = [delivery("on", seq, seq, seq) for seq in range(8)]
    rows += [delivery("on", 0, 0, 10, who=OTHER), delivery("on", 1, 20, 50, who=OTHER)]
    feed(metric, rows)
    seen = metric.of_orderings()["on"]
    found = values(seen)
    assert found["extra_delay_mean"] == pytest.approx(40 / 10)
    assert found["extra_delay_pairs_max"] == 20
    assert found["extra_delay_pairs_p50"] == 10
    assert found["pairs_below_1ms"] == 0.5
    cdf = seen.quantiles["extra_delay_pairs_ms"]
    assert (len(cdf), cdf[0], cdf[50], cdf[100]) == (101, 0, 10, 20)


def test_where_nothing_was_out_of_order_no_share_of_it_was_removed() -> None:
    metric = Orderings(context("on", "silent"))
    feed(metric, [arrival(0, 1), delivery("on", 0, 1, 1)])
    seen = metric.of_orderings()
    assert isnan(values(seen["on"])["violations_removed"])
    assert seen["silent"].figures == {}
