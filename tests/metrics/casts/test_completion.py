"""How long a cast takes, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.casts.completion import CastCompletion
from penstock.trace.records import Row
from tests.metrics.casts.made import transfer
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import assert_parts_add_up

ROWS: list[Row] = [
    transfer("s-1", 6.5, missed=10),
    transfer("s-2", 7, asked_s=0.5, missed=20, bound_s=4.5),
]


def found(*rows: Row) -> dict[str, float]:
    return values_of(measure_rows(rows, [CastCompletion]))


def test_time_runs_from_the_first_packet_to_the_last_receiver() -> None:
    assert found(*ROWS) == {
        "cast_setup": 1.5,
        "cast_time": 5,
        "cast_time_bound": 4.5,
        "cast_time_over_bound": pytest.approx(5 / 4.5),
        "cast_unfinished": 0,
        "missed_share": pytest.approx(0.15),
        "completion_time": 4.75,
    }


def test_a_cast_that_somebody_never_has_has_no_time() -> None:
    values = found(*ROWS, transfer("s-3", None, missed=90))
    assert values["cast_unfinished"] == 1
    assert values["cast_time_bound"] == 4.5
    assert not {"cast_time", "cast_time_over_bound"} & {*values}


def test_a_late_receiver_is_compared_with_one_more_copy_of_what_it_missed() -> None:
    # The first distribution had 25 packets a second: 50 of them take 2 s.
    late = transfer("late", 8.5, asked_s=4, missed=50)
    assert found(*ROWS, late)["late_over_copy"] == 1.25
    quicker = transfer("later", 6.1, asked_s=5, missed=75)
    assert found(*ROWS, late, quicker)["late_over_copy"] == 1.25
    # Others may have repaired it before the end.
    cached = transfer("late", 5.9, asked_s=4, missed=50)
    assert found(*ROWS, cached)["late_over_copy"] == 0


def test_without_a_late_receiver_that_missed_anything_there_is_no_copy() -> None:
    assert "late_over_copy" not in found(*ROWS, transfer("late", 8.5, asked_s=4))
    # Who asks as the first packet leaves is not late.
    assert "late_over_copy" not in found(*ROWS, transfer("s-3", 8.5, asked_s=2, missed=50))
    late = transfer("late", 8.5, asked_s=4, missed=50)
    lost = transfer("later", None, asked_s=4, missed=50)
    assert "late_over_copy" not in found(*ROWS, late, lost)


def test_without_receivers_there_is_nothing() -> None:
    assert not measure_rows([], [CastCompletion], recorded=["cast_transfers"]).values
    assert not measure_rows([], [CastCompletion]).values


def test_parts_of_a_run_add_up() -> None:
    late = transfer("late", 8.5, asked_s=4, missed=50)
    assert_parts_add_up([*ROWS, late], CastCompletion)
    assert_parts_add_up([*ROWS, late, transfer("s-3", None)], CastCompletion)
