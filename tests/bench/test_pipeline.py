"""All alternatives answer the same question alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.pipeline import MILLIONS_VARIABLE, _chosen_sizes
from bench.pipeline.queries import ALTERNATIVES, by_kernels
from bench.pipeline.subprocess_case import run_in_subprocess
from bench.pipeline.traces import LOSS, make_runs
from penstock.kernel.errors import UsageError

DELIVERIES = 10_000


@pytest.mark.parametrize("name", ["Polars", "DuckDB"])
def test_alternatives_agree(tmp_path: Path, name: str) -> None:
    pytest.importorskip(name.lower())
    runs = make_runs(tmp_path, 2 * DELIVERIES, per_run=DELIVERIES)
    found = by_kernels(tmp_path, runs)
    assert ALTERNATIVES[name](tmp_path, runs).agrees_with(found)
    assert found.deliveries >= 2 * DELIVERIES * (1 - LOSS)
    assert all(figures["violations"] > 0 for figures in found.figures.values())
    assert all(figures["false_negatives"] > 0 for figures in found.figures.values())


def test_a_process_of_its_own_gives_the_same_result_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = make_runs(Path("traces"), DELIVERIES, per_run=DELIVERIES)
    found = run_in_subprocess("kernels", Path("traces"), runs)
    assert found.result == by_kernels(Path("traces"), runs)
    assert found.wall_s > 0
    assert found.peak_mb > 0


def test_made_up_traces_are_the_same_every_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    runs = [make_runs(place, DELIVERIES, per_run=DELIVERIES) for place in (one, other)]
    assert runs[0] == runs[1]
    assert by_kernels(one, runs[0]) == by_kernels(other, runs[1])


def test_a_size_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MILLIONS_VARIABLE, "many")
    with pytest.raises(UsageError, match="whole numbers as 1,5"):
        _chosen_sizes()
