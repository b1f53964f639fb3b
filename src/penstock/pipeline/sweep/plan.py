"""The jobs of a sweep with names unique to each point, and the test whether one is done."""

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
    """A job of one point; runs of all points share a directory, and differ by `mark`."""

    mark: str = ""

    @property
    def run_id(self) -> str:
        """The name of the trace and of the cached outcome."""
        name = Job.run_id.fget(self)  # type: ignore[attr-defined]  # a property's function
        return f"{name}+{self.mark}" if self.mark else str(name)

    @property
    def cached_path(self) -> Path:
        """The file in which `lab` caches the outcome."""
        assert self.runs is not None, "a sweep keeps what it finds"
        return self.runs / f"{self.run_id}.json"


@dataclass(frozen=True, slots=True)
class PointPlan:
    """The jobs of one point."""

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
    """Lists every run of every point, and checks all of them before the first starts."""
    plans = []
    for point in points:
        plan = ExperimentPlan(
            profile=profile,
            seeds=seeds,
            overrides=point.overrides,
            # Only used to read cached outcomes, for which one process is fast enough.
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
    """The fields of a cached outcome that are read here."""

    fingerprint: str
    outcome: _CachedOutcome


def is_done(job: SweepJob) -> bool:
    """Whether this run was finished by the same program, and its trace, if needed, exists."""
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
