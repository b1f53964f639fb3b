"""Quick profiles with seed 1, each run once per test session for all tests that look at it.

Tests use the fixture `quick_run` of `tests/conftest.py`. Results and traces stand in a directory
that all workers of xdist share: the first that needs an experiment runs it, others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TypeAlias

from penstock.lab.experiment import Expectation, Experiment
from penstock.lab.experiment_files import catalogue
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.lab.result import Result, read_result, write_result
from penstock.lab.result_names import result_names
from penstock.lab.single_run import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickRun:
    """The result of an experiment, and the traces of its jobs."""

    result: Result
    traces: Path
    jobs: list[Job]


# By the id of the experiment.
QuickRuns: TypeAlias = Callable[[str], QuickRun]


def run_once(id_: str, directory: Path) -> QuickRun:
    """Runs the variants that expectations of the quick profile are about, and keeps the traces."""
    source = catalogue()[id_]
    variants = needed(source.experiment, quick(source.experiment))
    traces = directory / id_ / "traces"
    plan = ExperimentPlan(seeds=[1], processes=1, keep=traces, variants=variants)
    with (directory / f"{id_}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        jobs = plan_jobs(source, plan)
        path = directory / id_ / "result.json"
        if not path.exists():
            write_result(run_experiment(source, plan, jobs=jobs), path)
    return QuickRun(result=read_result(path), traces=traces, jobs=jobs)


def quick(experiment: Experiment) -> list[Expectation]:
    """The expectations of the quick profile."""
    return [e for e in experiment.expect if "quick" in e.profiles]


def needed(experiment: Experiment, expectations: Iterable[Expectation]) -> list[str]:
    """The variants that these are about; others take time and decide nothing."""
    about = {name for e in expectations for name in (e.variant, e.ratio_to) if name}
    return [name for name in result_names(experiment) if name in about]
