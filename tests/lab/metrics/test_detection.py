"""Declared losses against what never came."""

from __future__ import annotations

import pytest

from penstock.lab.metrics.detection import Detection
from penstock.trace.fates import MissingState, ReceiverFate
from tests.lab.metrics.batches import arrival, context, expected, feed, loss, values

OTHER = ("p-1", "s-2")


def test_precision_recall_and_times() -> None:
    metric = Detection(context("on", "deaf"))
    feed(metric, [expected(seq, at_ms=seq) for seq in range(10)])
    # 3 and 4 never come to s-1, 8 comes late; s-2 misses 3 and 5, which is nothing to s-1.
    feed(metric, [arrival(seq, 20 + i) for i, seq in enumerate((0, 1, 2, 5, 6, 7, 9, 8))])
    feed(metric, [expected(3, OTHER), expected(5, OTHER)])
    rows = [
        loss("on", 8, 50, ReceiverFate.DELIVERED_LATE, detected_ms=30),
        loss("on", 3, 60, detected_ms=40),
        # Never declared, and declared though nobody wanted it.
        loss("on", 7, None, ReceiverFate.DELIVERED),
        loss("on", 11, 70, detected_ms=40),
    ]
    feed(metric, rows)
    assert values(metric.figures()) == {"missed": 4}
    on, deaf = (values(seen) for seen in metric.of_orderings().values())
    assert (on["losses_declared"], on["losses_right"], on["losses_retracted"]) == (3, 1, 1)
    assert on["loss_precision"] == pytest.approx(1 / 3)
    assert on["loss_recall"] == 1 / 4
    assert on["loss_declared_after"] == pytest.approx((20 + 20 + 30) / 3)
    assert on["loss_declared_since"] == 57
    assert deaf == {
        "losses_declared": 0, "losses_right": 0, "losses_retracted": 0, "loss_recall": 0,
    }  # fmt: skip


def test_a_number_of_another_epoch_is_another_message() -> None:
    metric = Detection(context("on"))
    feed(metric, [expected(0), expected(0, epoch=1), arrival(0, 1)])
    assert values(metric.figures()) == {"missed": 1}


def test_a_loss_that_turns_out_not_to_be_for_us_is_taken_back() -> None:
    metric = Detection(context("on"))
    feed(metric, [loss("on", 1, 5, MissingState.IRRELEVANT)])  # type: ignore[arg-type]
    found = values(metric.of_orderings()["on"])
    assert (found["losses_retracted"], found["loss_precision"]) == (1, 0)
    assert "loss_recall" not in found
