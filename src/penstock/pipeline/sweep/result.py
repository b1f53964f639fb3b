"""The result of a sweep: a result per point, as of `lab run`, and `sweep.json` of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.lab.atomic_file import write_atomically
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import run_experiment
from penstock.lab.result import Result, write_result
from penstock.metrics.statistics import Estimate
from penstock.pipeline.sweep.grid import Axis, Point
from penstock.pipeline.sweep.plan import PointPlan, SweepJob, is_done
from penstock.pipeline.sweep.task import Failure


class PointResult(msgspec.Struct, kw_only=True):
    """One point over the seeds with which no variant failed; empty if there are none."""

    settings: dict[str, str]
    seeds: list[int]
    trace_hash: str = ""
    variants: dict[str, dict[str, Estimate]] = {}
    # The path of the complete result, relative to the sweep's directory.
    file: str = ""


class SweepResult(msgspec.Struct, kw_only=True):
    """All points, and all failed runs."""

    id: str
    profile: str
    vary: dict[str, list[str]]
    runs: int
    points: list[PointResult]
    failed: list[Failure]
    code_version: str = __version__

    def json_summary(self) -> Any:
        """The document that `--json` prints."""
        return msgspec.to_builtins(self)


def gather(
    experiment_file: ExperimentFile,
    axes: Sequence[Axis],
    plans: Sequence[PointPlan],
    failed: Mapping[str, Failure],
    out: Path,
) -> SweepResult:
    """Reads the cached outcomes, and writes `sweep.json` and each point's `result.json`."""
    result = SweepResult(
        id=experiment_file.experiment.id,
        profile=plans[0].plan.profile,
        vary={axis.key: list(axis.values) for axis in axes},
        runs=sum(len(plan.jobs) for plan in plans),
        points=[_point(experiment_file, plan, failed, out) for plan in plans],
        failed=list(failed.values()),
    )
    encoded = msgspec.json.encode(result)
    write_atomically(out / "sweep.json", msgspec.json.format(encoded, indent=1))
    return result


def failure(job: SweepJob, point: Point, error: str, where: str = "") -> Failure:
    """A failure with everything needed to run the job again; `where` is the traceback."""
    return Failure(
        run=job.run_id,
        settings=dict(point.settings),
        variant=job.variant,
        seed=job.seed,
        error=error,
        traceback=where,
    )


def _point(
    experiment_file: ExperimentFile, plan: PointPlan, failed: Mapping[str, Failure], out: Path
) -> PointResult:
    # Variants are compared seed by seed, so a seed that one variant lacks is dropped for all.
    failed_seeds = {job.seed for job in plan.jobs if job.run_id in failed}
    complete = [job for job in plan.jobs if job.seed not in failed_seeds]
    settings = dict(plan.point.settings)
    if not complete:
        return PointResult(settings=settings, seeds=[])
    found = _result(experiment_file, plan, complete)
    path = Path("points") / plan.point.directory / "result.json"
    write_result(found, out / path)
    return PointResult(
        settings=settings,
        seeds=found.seeds,
        trace_hash=found.trace_hash,
        variants=found.variants,
        file=str(path),
    )


def _result(experiment_file: ExperimentFile, plan: PointPlan, jobs: Sequence[SweepJob]) -> Result:
    """Has `lab` combine the outcomes, all of which it finds in its cache."""
    for job in jobs:
        if not is_done(job):
            raise UsageError(
                f"{job.cached_path} is not what this program would have written: executors need a"
                " disk that is shared with this machine (--out), and the same version of penstock"
            )
    cached = [msgspec.structs.replace(job, keep=None, resume=True) for job in jobs]
    return run_experiment(experiment_file, plan.plan, jobs=list(cached))
