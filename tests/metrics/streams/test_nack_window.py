"""How far ahead hosts ask for repairs, by hand."""

from __future__ import annotations

from penstock.metrics.streams.nack_window import NackWindow
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of, stream

ROWS = [
    stream(1, "PB"),
    stream(1, "SB1", window_s=0.1),
    stream(1, "SB1", window_s=0.3, pubend="PB-2"),
    stream(2, "SB1", window_s=1),
    stream(2, "SB1", window_s=3, pubend="PB-2"),
]


def test_pubends_and_samples_count_alike() -> None:
    phases = {"late": [1, 2]}
    results = measure_rows(ROWS, [NackWindow], run=run_of(2, phases=phases))
    assert series_of(results, "nack_window.SB1") == [0.2, 2]
    assert values_of(results) == {"nack_window.SB1": 1.1, "nack_window.SB1.late": 2}


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [NackWindow], run=run_of(2))
    assert measure_parts([ROWS, []], NackWindow, run=run_of(2)).values == whole.values
