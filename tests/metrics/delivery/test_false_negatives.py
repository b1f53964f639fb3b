"""What was due and never came."""

from __future__ import annotations

import pytest

from penstock.metrics.delivery.false_negatives import FalseNegatives
from penstock.trace.fates import ReceiverFate
from tests.metrics.delivery.made import (
    WITH_PHASE,
    arrival,
    delivery,
    expected,
)
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import assert_parts_add_up

OTHER = ("p-1", "s-2")
REPAIRED = ReceiverFate.REPAIRED


def test_a_message_that_came_twice_hides_none_that_never_came() -> None:
    rows = [expected(0), expected(1), arrival(0, 1), arrival(0, 2)]
    found = values_of(measure_rows(rows, [FalseNegatives]))
    assert (found["false_negatives"], found["false_negative_ratio"]) == (1, 1 / 2)


def test_a_message_of_another_epoch_is_another_message() -> None:
    rows = [expected(0), expected(0, epoch=1), arrival(0, 1, epoch=1)]
    assert values_of(measure_rows(rows, [FalseNegatives]))["false_negatives"] == 1


def test_it_counts_in_the_second_of_its_publication() -> None:
    rows = [expected(0, 0), expected(1, 3), expected(2, 3), arrival(0, 9000)]
    assert series_of(measure_rows(rows, [FalseNegatives]), "false_negatives")[:4] == [0, 0, 0, 2]


def test_each_ordering_has_its_own_of_ten_messages() -> None:
    rows = [expected(seq) for seq in range(10)]
    rows_a = [delivery("a", seq, 1, 1) for seq in range(9)]
    rows_b = [delivery("b", seq, 1, 1) for seq in range(9)]
    results = measure_rows([*rows, *rows_a, *rows_b], [FalseNegatives])
    assert values_of(results) == {}
    for ordering in "ab":
        found = values_of(results, ordering=ordering)
        assert found["false_negatives"] == 1
        assert found["false_negative_rate"] == pytest.approx(1 / 10)


def test_a_message_that_an_ordering_dropped_is_missed_by_it_and_not_by_the_network() -> None:
    dropped = delivery("on", 0, 1, None, fate=ReceiverFate.DROPPED_LATE)
    results = measure_rows([expected(0), arrival(0, 1), dropped], [FalseNegatives])
    assert values_of(results)["false_negatives"] == 0
    assert values_of(results, ordering="on")["false_negatives"] == 1


def test_the_recovered_share_is_of_what_was_lost_in_the_phase_of_publication() -> None:
    rows = [expected(0, 6), expected(1, 12), expected(2, 12), expected(3, 12)]
    came = [
        delivery("on", 0, 6001, 6001, published_ms=6000, fate=REPAIRED),
        delivery("on", 1, 12_001, 12_001, published_ms=12_000, fate=REPAIRED),
        delivery("on", 3, 12_001, 12_001, published_ms=12_000),
    ]
    results = measure_rows([*rows, *came], [FalseNegatives], run=WITH_PHASE)
    found = values_of(results, ordering="on")
    assert found["recovered_share"] == 2 / 3
    assert found["recovered_share.late"] == 1 / 2
    assert found["false_negative_rate.late"] == 1 / 4
    assert found["false_negative_ratio.late"] == 1 / 3


def test_nothing_was_recovered_where_nothing_was_lost() -> None:
    results = measure_rows([expected(0), delivery("on", 0, 1, 1)], [FalseNegatives])
    assert "recovered_share" not in values_of(results, ordering="on")


def test_the_network_recovers_nothing() -> None:
    repaired = delivery("on", 0, 1, 1, fate=REPAIRED)
    rows = [expected(0), expected(1), arrival(0, 1), repaired]
    results = measure_rows(rows, [FalseNegatives])
    assert values_of(results, ordering="on")["recovered_share"] == 1 / 2
    assert "recovered_share" not in values_of(results)


def test_nothing_due_is_nothing_missed_and_unknown_dues_are_no_result() -> None:
    found = values_of(measure_rows([], [FalseNegatives], recorded=["expected", "arrivals"]))
    assert (found["false_negatives"], found["false_negative_ratio"]) == (0, 0)
    assert not measure_rows([arrival(0, 1)], [FalseNegatives]).values


def test_parts_add_up_even_if_one_of_them_knows_nothing_of_an_ordering() -> None:
    rows = [expected(0, 12), expected(0, 12, OTHER), expected(1, 20, OTHER)]
    came = [arrival(0, 12_001), delivery("on", 0, 12_001, 12_002, published_ms=12_000)]
    assert_parts_add_up([*rows, *came], FalseNegatives, run=WITH_PHASE)
    results = measure_rows([*rows, *came], [FalseNegatives], run=WITH_PHASE)
    assert values_of(results, ordering="on")["false_negatives"] == 2
