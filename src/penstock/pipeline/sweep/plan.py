"""The jobs of a sweep, each point's with names of their own, and which of them are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.lab.run_cache import fingerprint
from penstock.lab.single_run import Job
from penstock.pipeline.sweep.grid import Point
from penstock.tracefile.reader import TraceReader


class SweepJob(Job, frozen=True, kw_only=True):
    """A job of one point: all points' runs lie side by side, told apart by its mark."""

    mark: str = ""

    @property
    def run_id(self) -> str:
        """The name of its trace."""
        name = Job.run_id.fget(self)  # type: ignore[attr-defined]  # a property's function
        return f"{name}+{self.mark}" if self.mark else str(name)

    @property
    def cached_path(self) -> Path:
        """Where `lab` keeps its outcome."""
        assert self.runs is not None, "a sweep keeps what it finds"
        return self.runs / f"{self.run_id}.json"


@dataclass(frozen=True, slots=True)
class PointPlan:
    """What is to be run at one point."""

    point: Point
    plan: ExperimentPlan
    jobs: list[SweepJob]


def plan_points(
    experiment_file: ExperimentFile,
    points: Sequence[Point],
    *,
    out: Path,
    profile: str = "quick",
    seeds: Sequence[int] | None = None,
    keep: bool = False,
    resume: bool = False,
) -> list[PointPlan]:
    """Every run of every point; what cannot be is refused before the first begins."""
    plans = []
    for point in points:
        plan = ExperimentPlan(
            profile=profile,
            seeds=seeds,
            overrides=point.overrides,
            # What is done comes out of files, which one process reads as quickly as many.
            processes=1,
            keep=out / "traces" if keep else None,
            runs=out / "runs",
            resume=resume,
        )
        jobs = plan_jobs(experiment_file, plan)
        marked = [SweepJob(**msgspec.structs.asdict(job), mark=point.mark) for job in jobs]
        plans.append(PointPlan(point, plan, marked))
    return plans


class _CachedOutcome(msgspec.Struct):
    trace_hash: str


class _CachedRun(msgspec.Struct):
    """What is looked at of an outcome that `lab` kept."""

    fingerprint: str
    outcome: _CachedOutcome


def is_done(job: SweepJob) -> bool:
    """Whether this very run was finished before, by this very program, with its trace if wanted."""
    try:
        cached = msgspec.json.decode(job.cached_path.read_bytes(), type=_CachedRun)
    except (OSError, msgspec.DecodeError):
        return False
    if cached.fingerprint != fingerprint(job):
        return False
    return job.keep is None or _trace_hash(job.keep, job.run_id) == cached.outcome.trace_hash


def _trace_hash(directory: Path, run: str) -> str | None:
    try:
        return TraceReader(directory).run(run).trace_hash
    except UsageError:
        return None
