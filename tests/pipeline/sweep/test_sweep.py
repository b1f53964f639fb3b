"""Whole sweeps on two local executors' worth of Spark: what `lab run` finds, whatever happens."""

from __future__ import annotations

import json
import os
import signal
from contextlib import nullcontext
from pathlib import Path
from threading import Thread

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.lab.result import read_result
from penstock.pipeline.ingest import find_runs
from penstock.pipeline.sweep.result import SweepResult
from penstock.pipeline.sweep.run import run_sweep
from penstock.pipeline.sweep.spread import attempts_of
from tests.pipeline.sweep.tiny import begun_in, planned, wait_for, write_tiny

DELAY = "network.link.delay_ms=5,10"


def sweep(
    spark: SparkSession, directory: Path, *vary: str, keep: bool = False, resume: bool = False
) -> SweepResult:
    source, axes, plans = planned(directory, *vary, keep=keep, resume=resume)
    return run_sweep(source, axes, plans, directory / "out", lambda: nullcontext(spark))


def kept_in(directory: Path) -> dict[str, int]:
    """When each outcome was written."""
    return {path.name: path.stat().st_mtime_ns for path in (directory / "out/runs").glob("*.json")}


def test_every_point_has_the_result_that_lab_run_has(spark: SparkSession, tmp_path: Path) -> None:
    result = sweep(spark, tmp_path, DELAY)
    assert (result.runs, result.failed) == (8, [])
    source, _, _ = planned(tmp_path)
    for delay, point in zip(("5", "10"), result.points, strict=True):
        sets = [f"network.link.delay_ms={delay}"]
        alone = run_experiment(source, ExperimentPlan(seeds=[1, 2], overrides=sets, processes=1))
        assert point.settings == {"network.link.delay_ms": delay}
        assert point.trace_hash == alone.trace_hash
        assert point.variants == alone.variants
        written = read_result(tmp_path / "out" / point.file)
        assert written.trace_hashes == alone.trace_hashes
        assert written.figures == alone.figures
        assert written.variants["off"]["offered"].ci95 is not None


def test_a_run_that_fails_is_told_and_stops_nobody(spark: SparkSession, tmp_path: Path) -> None:
    _, _, (plan, _) = planned(tmp_path, DELAY)
    victim = next(job for job in plan.jobs if (job.variant, job.seed) == ("busy", 2))
    victim.cached_path.mkdir(parents=True)
    result = sweep(spark, tmp_path, DELAY)
    (failed,) = result.failed
    assert (failed.run, failed.variant, failed.seed) == (victim.run_id, "busy", 2)
    assert failed.settings == {"network.link.delay_ms": "5"}
    assert failed.error.startswith("IsADirectoryError")
    assert "write_atomically" in failed.traceback
    # Variants are compared seed by seed.
    assert [point.seeds for point in result.points] == [[1], [1, 2]]
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["failed"][0]["seed"] == 2


def test_a_point_of_which_nothing_is_left_has_no_figures(
    spark: SparkSession, tmp_path: Path
) -> None:
    _, _, (plan, _) = planned(tmp_path, DELAY)
    for job in plan.jobs:
        job.cached_path.mkdir(parents=True)
    result = sweep(spark, tmp_path, DELAY)
    assert [point.seeds for point in result.points] == [[], [1, 2]]
    assert len(result.failed) == 4


def test_to_resume_is_to_run_what_is_not_done(spark: SparkSession, tmp_path: Path) -> None:
    first = sweep(spark, tmp_path, DELAY)
    before = kept_in(tmp_path)
    assert len(before) == 8
    gone = sorted(before)[3]
    (tmp_path / "out" / "runs" / gone).unlink()
    second = sweep(spark, tmp_path, DELAY, resume=True)
    after = kept_in(tmp_path)
    assert [name for name in before if after[name] != before[name]] == [gone]
    assert second.points == first.points


def test_with_all_done_spark_is_not_even_started(spark: SparkSession, tmp_path: Path) -> None:
    first = sweep(spark, tmp_path)
    source, axes, plans = planned(tmp_path, resume=True)

    def no_session() -> nullcontext[SparkSession]:
        raise AssertionError("there is nothing to do")

    assert run_sweep(source, axes, plans, tmp_path / "out", no_session).points == first.points


def test_traces_of_all_points_lie_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    sweep(spark, tmp_path, DELAY, keep=True)
    intake = find_runs([tmp_path / "out"], is_strict=True, checks_hashes=True)
    assert len(intake.runs) == 8
    before = kept_in(tmp_path)
    sweep(spark, tmp_path, DELAY, keep=True, resume=True)
    assert kept_in(tmp_path) == before


def test_a_killed_worker_is_replaced_and_its_runs_are_run_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    killed: list[str] = []

    def kill_one() -> None:
        wait_for(lambda: bool(begun_in(tmp_path / "out")))
        run, process = next(iter(begun_in(tmp_path / "out").items()))
        os.kill(process, signal.SIGKILL)
        killed.append(run)

    # Long enough that the process is still there when it is looked for.
    vary = "run.duration_s=60"
    killer = Thread(target=kill_one)
    killer.start()
    result = sweep(spark, tmp_path, vary)
    killer.join()
    assert len(killed) == 1
    assert result.failed == []
    source, _, _ = planned(tmp_path)
    alone = run_experiment(source, ExperimentPlan(seeds=[1, 2], overrides=[vary], processes=1))
    assert result.points[0].trace_hash == alone.trace_hash


def test_progress_ends_with_all_runs(spark: SparkSession, tmp_path: Path) -> None:
    told: list[float] = []
    source, axes, plans = planned(tmp_path)
    run_sweep(source, axes, plans, tmp_path / "out", lambda: nullcontext(spark), told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 4)


def test_how_often_a_task_is_tried_is_known(spark: SparkSession) -> None:
    assert attempts_of(spark) == 4


def invoke(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["sweep", *arguments], prog_name="penstock")
    return done.exit_code, done.output


def test_the_command_shows_means_with_intervals_by_point(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, out = str(write_tiny(tmp_path)), str(tmp_path / "out")
    code, said = invoke(
        path, "--vary", DELAY, "--seeds", "2", "--out", out, "--metric", "deliveries"
    )
    assert code == 0
    lines = said.splitlines()
    assert lines[0] == "T-1: a test (quick, 8 of 8 runs)"
    assert lines[2].split("\t") == [
        "network.link.delay_ms",
        "variant",
        "seeds",
        "deliveries",
    ]
    rows = [line.split("\t") for line in lines[3:7]]
    assert [row[:3] for row in rows] == [
        ["5", "off", "2"],
        ["5", "busy", "2"],
        ["10", "off", "2"],
        ["10", "busy", "2"],
    ]
    assert all(" ± " in row[3] for row in rows)
    assert lines[-1] == str(tmp_path / "out" / "sweep.json")


def test_the_command_exits_with_1_if_a_run_failed(spark: SparkSession, tmp_path: Path) -> None:
    _, _, (plan,) = planned(tmp_path)
    plan.jobs[0].cached_path.mkdir(parents=True)
    path, out = str(tmp_path / "tiny.toml"), str(tmp_path / "out")
    code, said = invoke(path, "--seeds", "2", "--out", out)
    assert code == 1
    assert "failed: seed 1 of off, as it stands: IsADirectoryError" in said
    code, said = invoke(path, "--seeds", "2", "--out", out, "--json")
    assert code == 1
    assert [failed["seed"] for failed in json.loads(said)["failed"]] == [1]


def test_what_cannot_vary_is_refused_before_anything_runs(tmp_path: Path) -> None:
    path, out = str(write_tiny(tmp_path)), tmp_path / "out"
    code, said = invoke(path, "--vary", "network.link.dealy_ms=1,2", "--out", str(out))
    assert code == 2
    assert "did you mean delay_ms?" in said
    assert not (out / "runs").exists()
