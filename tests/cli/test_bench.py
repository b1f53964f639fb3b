"""Benchmarks on the command line: where they are found, and what they say while they run."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock
from bench import BENCHES, module_name, repair_storm
from bench.repair_storm.group import LITERAL, StormCase
from penstock.cli.bench import _Progress
from penstock.cli.main import app

ROOT = Path(__file__).parents[2]


def test_a_clone_finds_its_benchmarks_from_any_directory(tmp_path: Path) -> None:
    script = "from penstock.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", script, "bench", "nonsense"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("penstock: there is no benchmark 'nonsense': choose from match, ")


@pytest.mark.parametrize("project", [None, "no table", '[project]\nname = "other"'])
def test_an_installed_package_says_that_it_has_none(
    project: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(penstock, "__file__", str(tmp_path / "src" / "penstock" / "__init__.py"))
    if project is not None:
        (tmp_path / "bench").mkdir()
        (tmp_path / "bench" / "__init__.py").touch()
        (tmp_path / "pyproject.toml").write_text(project)
    result = CliRunner().invoke(app, ["bench", "wire"], prog_name="penstock")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("penstock: benchmarks are part of the source tree: clone ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", BENCHES)
def test_every_benchmark_listed_is_there(name: str) -> None:
    assert find_spec(module_name(name)) is not None


def test_a_log_hears_at_once_and_then_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = 100.0
    progress = _Progress(lambda: now_s)
    for now_s in (100.0, 101.0, 109.0, 110.0, 111.0):
        progress(f"at {now_s:g}")
    assert capsys.readouterr().err.splitlines() == ["at 100 …", "at 110 …"]


def test_a_storm_tells_of_itself_before_its_first_loss_is_over() -> None:
    said: list[str] = []
    scene = StormCase(size=100, settings=LITERAL, publisher_answers=False, is_star=True)
    repair_storm.measure(said.append, scene, 1, 1)
    first, *between, last = said
    assert first.endswith("group 1 of 1")
    assert between
    assert all("so far" in line for line in between)
    assert last.endswith("loss 1 of 1")
