"""Runs a sweep, from the plan to the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.lab.experiment_files import ExperimentFile
from penstock.pipeline.sweep.grid import Axis
from penstock.pipeline.sweep.plan import PointPlan, is_done
from penstock.pipeline.sweep.result import SweepResult, failure, gather
from penstock.pipeline.sweep.spread import ProgressCallback, SparkStoppedError, run_on_spark
from penstock.pipeline.sweep.task import Failure

# A function, so that Spark starts only if there are jobs to run.
Session = Callable[[], AbstractContextManager[SparkSession]]


def run_sweep(
    experiment_file: ExperimentFile,
    axes: Sequence[Axis],
    plans: Sequence[PointPlan],
    out: Path,
    session: Session,
    progress: ProgressCallback = lambda _runs: None,
) -> SweepResult:
    """Runs all jobs not done yet; a failed run is listed in the result and stops no other."""
    all_jobs = [(plan.point, job) for plan in plans for job in plan.jobs]
    to_do = [(point, job) for point, job in all_jobs if not (job.resume and is_done(job))]
    jobs = [job for _, job in to_do]
    failed: dict[str, Failure] = {}
    before = len(all_jobs) - len(jobs)
    progress(before)
    if jobs:
        try:
            with session() as spark:
                errors = run_on_spark(spark, jobs, lambda runs: progress(before + runs))
        except SparkStoppedError as error:
            why = f"not run to its end: Spark gave up ({error}); --resume tries again"
            errors = {index: (why, "") for index, job in enumerate(jobs) if not is_done(job)}
        for index, (why, where) in errors.items():
            point, job = to_do[index]
            failed[job.run_id] = failure(job, point, why, where)
    return gather(experiment_file, axes, plans, failed, out)
