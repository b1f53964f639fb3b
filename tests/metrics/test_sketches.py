"""Histograms and points that are small, and the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.lab.result import read_result, write_result
from penstock.metrics.sketches import BINS_MAX, POINTS_MAX, Grid, Points, grid_for, thinned
from tests.experiment_files import TINY, load

# Some that are far apart, some that are the same, and some that lie on edges.
NUMBERS = st.floats(-1e7, 1e7) | st.integers(-20, 20).map(float)


@given(st.lists(NUMBERS, min_size=1, max_size=300))
def test_few_bins_hold_nearly_everything_once(numbers: list[float]) -> None:
    values = np.array(numbers)
    bins = grid_for(values).count(values)
    assert 1 <= len(bins.counts) <= BINS_MAX
    assert bins.total == values.size
    assert max(bins.below, bins.above) <= 1 + 0.001 * values.size


def test_a_bin_holds_its_lower_edge_and_not_its_upper() -> None:
    grid = Grid(first=2, size=3, width=0.5)
    bins = grid.count(np.array([0.9, 1.0, 1.0, 1.4, 1.5, 2.4, 2.5, 9.0]))
    assert (bins.start, bins.width, bins.counts) == (1, 0.5, [3, 1, 1])
    assert (bins.below, bins.above, bins.total) == (1, 2, 8)


@pytest.mark.parametrize("scale", [1e-3, 0.03, 1.0, 70.0])
def test_more_values_make_narrower_bins_with_round_edges(scale: float) -> None:
    evenly = (np.arange(20_000) + 0.5) / 20_000
    values = -scale * np.log(evenly)
    many, few = grid_for(values), grid_for(values[::100])
    assert many.width < few.width
    assert 40 <= many.size <= BINS_MAX
    for grid in (many, few):
        assert f"{grid.width:e}"[:8] in ("1.000000", "2.000000", "5.000000")


def test_far_values_do_not_make_bins_wide() -> None:
    values = np.append(np.linspace(0, 10, 5000), 1e6)
    bins = grid_for(values).count(values)
    assert bins.width < 2
    assert bins.above >= 1


def test_points_are_thinned_evenly() -> None:
    x = np.arange(10 * POINTS_MAX + 7.0)
    points = thinned(x, x + 1)
    assert (len(points.x), points.total, points.x[0]) == (POINTS_MAX, x.size, 0)
    gaps = np.diff(points.x)
    assert (gaps.min(), gaps.max()) == (10, 11)
    assert np.array_equal(np.array(points.y) - 1, points.x)


def test_few_points_are_all_kept() -> None:
    assert thinned(np.array([1.0, 2.0]), np.array([3.0, 4.00049])) == Points(
        x=[1, 2], y=[3, 4], total=2
    )
    assert thinned(np.empty(0), np.empty(0)) == Points(x=[], y=[], total=0)


def test_a_result_has_the_sketches_of_its_first_seed(tmp_path: Path) -> None:
    pair = 'metrics = ["pair_delays"]\npair = ["talker", "listeners"]'
    text = TINY.replace('metrics = ["received"]', pair)
    source = load(tmp_path, text)
    one, other = (run_experiment(source, ExperimentPlan(seeds=[seed])).sketches for seed in (1, 2))
    both = run_experiment(source, ExperimentPlan(seeds=[2, 1], processes=1))
    # Of several seeds there is no mean: not even the number of points is the same.
    assert one != other == both.sketches
    write_result(both, tmp_path / "result.json")
    assert read_result(tmp_path).sketches == both.sketches
