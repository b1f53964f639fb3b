"""A sweep on Spark against the same runs in plain processes.

What Spark costs: its start, once, and a little for every task. Runs are made long
enough to be worth a task.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, TypeVar

from penstock.bench.result import Case, Note, Result
from penstock.lab.load import Source
from penstock.lab.load import find as find_experiment
from penstock.lab.perform import Plan, jobs_of
from penstock.lab.pool import run_all
from penstock.lab.run import run_job
from penstock.pipeline.session import open_session
from penstock.pipeline.sweep.grid import Point
from penstock.pipeline.sweep.plan import SweepJob, plan_points
from penstock.pipeline.sweep.spread import spread

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
    source = find_experiment(EXPERIMENT)
    slots = os.cpu_count() or 1
    note("finding out how long a run takes")
    length_s = _length(source, run_s)
    with TemporaryDirectory() as place:
        jobs = _jobs(source, Path(place) / "plain", length_s, runs)
        note(f"{runs} runs in {slots} processes")
        plain_s, outcomes = _timed(lambda: run_all(jobs, processes=slots))
        jobs = _jobs(source, Path(place) / "spark", length_s, runs)
        note(f"{runs} runs on Spark")
        began = perf_counter()
        with open_session(f"local[{slots},4]") as spark:
            start_s = perf_counter() - began
            spread_s, failed = _timed(lambda: spread(spark, jobs))
        whole_s = perf_counter() - began
    assert not failed, "a run that went well in a process failed on Spark"
    return Result(
        "sweep",
        [
            Case("plain processes", "time", plain_s, "s"),
            Case("plain processes", "a run", sum(o.wall_s for o in outcomes) / runs, "s"),
            Case("Spark", "start", start_s, "s"),
            Case("Spark", "time", spread_s, "s"),
            Case("Spark", "time with start and end", whole_s, "s"),
        ],
        {
            "Spark / plain processes": spread_s / plain_s,
            "Spark with start and end / plain processes": whole_s / plain_s,
        },
        {"Spark / plain processes": "<= 1.05"},
        [f"{runs} runs of {EXPERIMENT}, {length_s} simulated seconds each, {slots} at once"],
    )


def _length(source: Source, run_s: float) -> int:
    """How many simulated seconds take so long, on this machine."""
    (job, *_) = jobs_of(source, Plan(seeds=[1], sets=[f"run.duration_s={_TRIAL_S}"]))
    trial_s, _ = _timed(lambda: run_job(job))
    return max(1, round(_TRIAL_S * run_s / trial_s))


def _jobs(source: Source, out: Path, length_s: int, runs: int) -> list[SweepJob]:
    point = Point((("run.duration_s", str(length_s)),))
    (planned,) = plan_points(source, [point], out=out, seeds=range(1, runs + 1))
    # Of one variant: its runs are equally long.
    return planned.jobs[:runs]


def _timed(call: Callable[[], Found]) -> tuple[float, Found]:
    began = perf_counter()
    found = call()
    return perf_counter() - began, found
