"""All alternatives answer the same question alike."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.memory import peak_mb
from bench.pipeline.queries import ALTERNATIVES, by_metrics
from bench.pipeline.subprocess_case import run_in_subprocess
from bench.pipeline.traces import LOSS, make_runs
from bench.sizes import MILLIONS_VARIABLE, chosen_millions
from penstock.kernel.errors import UsageError

DELIVERIES = 10_000
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["Polars", "DuckDB"])
def test_alternatives_agree(tmp_path: Path, name: str) -> None:
    pytest.importorskip(name.lower())
    runs = make_runs(tmp_path, 2 * DELIVERIES, per_run=DELIVERIES)
    found = by_metrics(tmp_path, runs)
    assert ALTERNATIVES[name](tmp_path, runs).agrees_with(found)
    assert found.deliveries >= 2 * DELIVERIES * (1 - LOSS)
    assert all(figures["violations"] > 0 for figures in found.figures.values())
    assert all(figures["false_negatives"] > 0 for figures in found.figures.values())


def test_a_process_of_its_own_gives_the_same_result_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = make_runs(Path("traces"), DELIVERIES, per_run=DELIVERIES)
    found = run_in_subprocess("metrics", Path("traces"), runs)
    assert found.result == by_metrics(Path("traces"), runs)
    assert found.wall_s > 0
    assert found.peak_mb > 0


def test_made_up_traces_are_the_same_every_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    runs = [make_runs(place, DELIVERIES, per_run=DELIVERIES) for place in (one, other)]
    assert runs[0] == runs[1]
    assert by_metrics(one, runs[0]) == by_metrics(other, runs[1])


def test_a_size_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MILLIONS_VARIABLE, "many")
    with pytest.raises(UsageError, match="whole numbers as 1,5"):
        chosen_millions([1])


def test_sizes_are_taken_from_the_variable_in_rising_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MILLIONS_VARIABLE, "20,1")
    assert chosen_millions([5]) == [1, 20]
    monkeypatch.delenv(MILLIONS_VARIABLE)
    assert chosen_millions([5]) == [5]


def test_a_child_has_a_peak_of_its_own() -> None:
    """Fails with `getrusage`, whose peak a child inherits."""
    ballast = b"1" * (256 << 20)
    program = "from bench.memory import peak_mb; print(peak_mb())"
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert 0 < float(said) < len(ballast) >> 20 < peak_mb()
