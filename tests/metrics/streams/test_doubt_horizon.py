"""How far doubt horizons are behind and how fast they move, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.streams.doubt_horizon import DoubtHorizon
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of, stream

# It stands still for a second, then makes up for it in two.
ROWS = [
    stream(1, "SB1", behind_s=0.5),
    stream(2, "SB1", behind_s=1.5),
    stream(3, "SB1", behind_s=1),
    stream(4, "SB1", behind_s=0.5),
    stream(4, "PB"),
]


def test_it_moves_as_time_does_less_what_it_falls_behind() -> None:
    results = measure_rows(ROWS, [DoubtHorizon], run=run_of(4))
    assert series_of(results, "doubt_behind.SB1") == [0.5, 1.5, 1, 0.5]
    assert series_of(results, "doubt_rate.SB1") == [0, 1.5, 1.5]
    assert values_of(results) == {"doubt_behind.SB1": 0.875, "doubt_rate.SB1": 1}


def test_a_phase_looks_at_its_own_samples_alone() -> None:
    phases = {"slow": [0, 2], "one": [2, 3]}
    values = values_of(measure_rows(ROWS, [DoubtHorizon], run=run_of(4, phases=phases)))
    assert values["doubt_rate.SB1.slow"] == 0
    assert values["doubt_behind.SB1.slow"] == 1
    # One sample does not move.
    assert values["doubt_behind.SB1.one"] == 1
    assert "doubt_rate.SB1.one" not in values


def test_the_smoothed_rate_is_the_mean_over_pubends() -> None:
    rows = [
        stream(1, "SB1", behind_s=1, doubt_rate=2),
        stream(1, "SB1", behind_s=1, doubt_rate=4, pubend="PB-2"),
        stream(2, "SB1", behind_s=1, doubt_rate=1),
    ]
    results = measure_rows(rows, [DoubtHorizon], run=run_of(2))
    assert series_of(results, "doubt_rate_smooth.SB1") == [3, 1]


def test_pubends_count_alike() -> None:
    rows = [stream(1, "SB1", behind_s=behind, pubend=f"PB-{behind}") for behind in (1, 2, 6)]
    assert values_of(measure_rows(rows, [DoubtHorizon]))["doubt_behind.SB1"] == pytest.approx(3)


def test_after_a_hole_in_the_samples_nothing_is_said_of_the_rate() -> None:
    rows = [stream(second, "SB1", behind_s=1) for second in (1, 3, 4)]
    results = measure_rows(rows, [DoubtHorizon], run=run_of(4))
    (found,) = (series for key, series in results.series.items() if key.metric == "doubt_rate")
    assert found.seconds.tolist() == [3]


def test_where_nobody_reads_there_is_nothing() -> None:
    assert not measure_rows([stream(1, "PB")], [DoubtHorizon]).values
    assert not measure_rows([], [DoubtHorizon], recorded=["streams"]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [DoubtHorizon], run=run_of(4))
    assert measure_parts([ROWS, []], DoubtHorizon, run=run_of(4)).values == whole.values
