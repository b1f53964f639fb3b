"""Declared losses against what never came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.metrics.recovery.detection import Detection
from penstock.trace.fates import MissingState, ReceiverFate
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up
from tests.metrics.recovery.rows import arrival, delivery, expected, loss

RUN = replace(TEN_SECONDS, orderings=("on", "deaf"))
NOTHING_FOUND = {"losses_declared": 0, "losses_right": 0, "losses_retracted": 0, "loss_recall": 0}


def losses_at_two_subscribers() -> list[Row]:
    came = (0, 1, 2, 5, 6, 7, 9, 8)
    return [
        *(expected(seq, at_ms=seq) for seq in range(10)),
        # 3 and 4 never come to s-1, 8 comes late; s-2 misses 3 and 5, which says nothing of s-1.
        *(arrival(seq, 20 + i) for i, seq in enumerate(came)),
        *(expected(3, "s-2"), expected(5, "s-2")),
        loss("on", 8, 50, ReceiverFate.DELIVERED_LATE, detected_ms=30),
        loss("on", 3, 60, detected_ms=40),
        # Never declared, and declared though nobody wanted it.
        loss("on", 7, None, ReceiverFate.DELIVERED),
        loss("on", 11, 70, detected_ms=40),
    ]


def test_precision_recall_and_times() -> None:
    results = measure_rows(losses_at_two_subscribers(), [Detection], run=RUN)
    assert values_of(results) == {"missed": 4}
    on = values_of(results, ordering="on")
    assert (on["losses_declared"], on["losses_right"], on["losses_retracted"]) == (3, 1, 1)
    assert on["loss_precision"] == pytest.approx(1 / 3)
    assert on["loss_recall"] == 1 / 4
    assert on["loss_declared_after"] == pytest.approx((20 + 20 + 30) / 3)
    assert on["loss_declared_since"] == 57


def test_an_ordering_that_declares_no_loss_has_values() -> None:
    rows = [*losses_at_two_subscribers(), delivery(0, 20, ordering="undeclared")]
    results = measure_rows(rows, [Detection], run=RUN)
    assert values_of(results, ordering="deaf") == NOTHING_FOUND
    assert values_of(results, ordering="undeclared") == NOTHING_FOUND


def test_a_loss_that_turns_out_to_be_irrelevant_is_retracted() -> None:
    rows = [loss("on", 1, 5, MissingState.IRRELEVANT)]
    results = measure_rows(rows, [Detection], run=RUN, recorded=["expected", "arrivals"])
    on = values_of(results, ordering="on")
    assert (on["losses_retracted"], on["loss_precision"]) == (1, 0)
    assert "loss_recall" not in on


def test_a_number_of_another_epoch_is_another_message() -> None:
    rows = [
        *(expected(1), expected(1, epoch=1)),
        arrival(1, 10, epoch=1),
        *(loss("on", 1, 20), loss("on", 1, 30, epoch=1)),
    ]
    results = measure_rows(rows, [Detection], run=RUN)
    assert values_of(results) == {"missed": 1}
    on = values_of(results, ordering="on")
    assert (on["losses_declared"], on["losses_right"], on["loss_recall"]) == (2, 1, 1)


def test_an_arrival_that_stands_twice_hides_no_loss() -> None:
    rows = [expected(0), expected(1), arrival(0, 10), arrival(0, 11)]
    assert values_of(measure_rows(rows, [Detection], run=RUN)) == {"missed": 1}


def test_a_missed_message_that_is_declared_twice_is_found_once() -> None:
    rows = [expected(0), expected(1), loss("on", 1, 10), loss("on", 1, 20)]
    on = values_of(measure_rows(rows, [Detection], run=RUN, recorded=["arrivals"]), ordering="on")
    assert (on["losses_right"], on["loss_recall"]) == (2, 0.5)


def test_without_arrivals_nothing_is_known() -> None:
    assert not measure_rows([expected(0), loss("on", 0, 10)], [Detection], run=RUN).values


def test_without_losses_what_is_missed_is_known() -> None:
    rows = [expected(0), expected(1), arrival(0, 10)]
    results = measure_rows(rows, [Detection], run=RUN)
    assert {key.flat for key in results.values} == {"missed"}


def test_parts_add_up() -> None:
    rows = [*losses_at_two_subscribers(), loss("on", 3, 90, subscriber="s-2", detected_ms=10)]
    assert values_of(measure_rows(rows, [Detection], run=RUN), ordering="on")["losses_right"] == 2
    assert_parts_add_up(rows, Detection, run=RUN)
