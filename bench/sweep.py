"""A sweep on Spark against the same runs in plain processes.

What Spark costs: its start, once, and a little for every task. Runs are made long
enough to be worth a task.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, TypeVar

import msgspec

from bench.result import Case, Note, Result
from penstock.lab.experiment_files import ExperimentFile, find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.lab.process_pool import run_all
from penstock.lab.single_run import run_job
from penstock.pipeline.session import open_session
from penstock.pipeline.sweep.grid import Point
from penstock.pipeline.sweep.plan import SweepJob, plan_points
from penstock.pipeline.sweep.spread import run_on_spark

Found = TypeVar("Found")

EXPERIMENT: Final = "M-4.3"
RUNS: Final = 200
RUN_S: Final = 2.5
_TRIAL_S: Final = 20


def run(note: Note) -> Result:
    """Takes as long as all runs do, twice."""
    return measure(note, RUNS, RUN_S)


def measure(note: Note, runs: int, run_s: float) -> Result:
    """So many runs of about so many seconds each."""
    experiment_file = find_experiment(EXPERIMENT)
    slots = os.cpu_count() or 1
    note("finding out how long a run takes")
    length_s = _simulated_seconds(experiment_file, run_s)
    with TemporaryDirectory() as place:
        jobs = _jobs(experiment_file, Path(place) / "plain", length_s, runs)
        note(f"{runs} runs in {slots} processes")
        plain_s, _ = _timed(lambda: run_all(jobs, processes=slots))
        plain_runs_s = _run_times_s(jobs)
        jobs = _jobs(experiment_file, Path(place) / "spark", length_s, runs)
        note(f"{runs} runs on Spark")
        began = perf_counter()
        with open_session(f"local[{slots},4]", is_brief=True) as spark:
            start_s = perf_counter() - began
            spread_s, failed = _timed(lambda: run_on_spark(spark, jobs))
        whole_s = perf_counter() - began
        spark_runs_s = _run_times_s(jobs)
    assert not failed, "a run that went well in a process failed on Spark"
    return Result(
        "sweep",
        [
            Case("plain processes", "time", plain_s, "s"),
            Case("plain processes", "a run", fmean(plain_runs_s), "s"),
            # What is not spent in runs is spent on having them run, or waiting for the last one.
            Case("plain processes", "time in runs", sum(plain_runs_s) / plain_s / slots, "of all"),
            Case("Spark", "start", start_s, "s"),
            Case("Spark", "time", spread_s, "s"),
            Case("Spark", "a run", fmean(spark_runs_s), "s"),
            Case("Spark", "time in runs", sum(spark_runs_s) / spread_s / slots, "of all"),
            Case("Spark", "time with start and end", whole_s, "s"),
        ],
        {
            "Spark / plain processes": spread_s / plain_s,
            "Spark with start and end / plain processes": whole_s / plain_s,
        },
        {"Spark / plain processes": "<= 1.05"},
        [f"{runs} runs of {EXPERIMENT}, {length_s} simulated seconds each, {slots} at once"],
    )


class _CachedOutcome(msgspec.Struct):
    wall_s: float


class _CachedRun(msgspec.Struct):
    outcome: _CachedOutcome


def _run_times_s(jobs: list[SweepJob]) -> list[float]:
    cached = [msgspec.json.decode(job.cached_path.read_bytes(), type=_CachedRun) for job in jobs]
    return [each.outcome.wall_s for each in cached]


def _simulated_seconds(experiment_file: ExperimentFile, run_s: float) -> int:
    """How many simulated seconds take so long, on this machine."""
    (job, *_) = plan_jobs(
        experiment_file, ExperimentPlan(seeds=[1], overrides=[f"run.duration_s={_TRIAL_S}"])
    )
    trial_s, _ = _timed(lambda: run_job(job))
    return max(1, round(_TRIAL_S * run_s / trial_s))


def _jobs(experiment_file: ExperimentFile, out: Path, length_s: int, runs: int) -> list[SweepJob]:
    point = Point((("run.duration_s", str(length_s)),))
    (planned,) = plan_points(experiment_file, [point], out=out, seeds=range(1, runs + 1))
    # Of one variant: its runs are equally long.
    return planned.jobs[:runs]


def _timed(call: Callable[[], Found]) -> tuple[float, Found]:
    began = perf_counter()
    found = call()
    return perf_counter() - began, found
