"""How often messages cross a link, by hand."""

from __future__ import annotations

from penstock.metrics.streams.crossings import Crossings
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import crossing, run_of

ROWS = [
    crossing(0, repeat=99),
    crossing(1, first=6, repair=2),
    crossing(2, first=3, repair=4, repeat=5),
    crossing(2, first=1, link="IB-SB1"),
]


def test_crossings_are_counted_by_link_and_phase() -> None:
    phases = {"early": [0, 1], "late": [1, 2]}
    values = values_of(measure_rows(ROWS, [Crossings], run=run_of(2, phases=phases)))
    assert values["crossings_first.PB-IB"] == 9
    assert values["crossings_repair.PB-IB"] == 6
    assert values["crossings_repeat.PB-IB"] == 5
    assert values["crossings_wasted.PB-IB"] == 0.25
    assert values["crossings_wasted.PB-IB.early"] == 0
    assert values["crossings_repeat.PB-IB.late"] == 5
    assert values["crossings_first.IB-SB1"] == 1
    assert values["crossings_first.IB-SB1.early"] == 0


def test_without_rows_or_without_the_table_there_is_nothing() -> None:
    assert not measure_rows([], [Crossings], recorded=["crossings"]).values
    assert not measure_rows([], [Crossings]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [Crossings], run=run_of(2))
    assert measure_parts([ROWS, []], Crossings, run=run_of(2)).values == whole.values
