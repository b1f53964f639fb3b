"""Runs all jobs of a sweep as Spark tasks, and reports progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import Final
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import StatusTracker
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from penstock.pipeline.sweep.plan import SweepJob
from penstock.pipeline.sweep.task import run_task

# Called with the number of runs done.
ProgressCallback = Callable[[float], None]

# A task costs 30 to 55 ms, so many short runs share one. Each processor still gets enough tasks
# that none runs alone for long at the end.
_TASKS_PER_SLOT: Final = 64
_POLL_S: Final = 0.25
_ATTEMPTS: Final = 4
_LOCAL_ATTEMPTS: Final = re.compile(r"local\[(?:\d+|\*)\s*,\s*(\d+)\]")

_REPORT_SCHEMA: Final = StructType(
    [
        StructField("job", LongType(), nullable=False),
        StructField("error", StringType(), nullable=True),
        StructField("trace", StringType(), nullable=True),
    ]
)


class SparkStoppedError(Exception):
    """Spark gave up, because a task failed more often than allowed."""


def run_on_spark(
    spark: SparkSession, jobs: Sequence[SweepJob], progress: ProgressCallback = lambda _runs: None
) -> dict[int, tuple[str, str]]:
    """Runs the jobs; returns error and traceback of those that failed, by index."""
    if not jobs:
        return {}
    context = spark.sparkContext
    tasks = min(len(jobs), _TASKS_PER_SLOT * context.defaultParallelism)
    # Broadcast: loaded once per process instead of once per task.
    shared = context.broadcast(tuple(jobs))
    work = partial(run_task, shared, tasks, attempts_of(spark))
    with _reporting_progress(spark, len(jobs) / tasks, progress):
        try:
            rows = spark.range(0, tasks, 1, tasks).mapInArrow(work, _REPORT_SCHEMA).collect()
        except (PySparkException, Py4JError) as error:
            raise SparkStoppedError(first_line(error)) from error
    shared.destroy()
    progress(len(jobs))
    return {row.job: (row.error, row.trace or "") for row in rows if row.error is not None}


def attempts_of(spark: SparkSession) -> int:
    """The attempts per task: on one machine those of the master URL, by default 1."""
    master = spark.sparkContext.master or ""
    if (found := _LOCAL_ATTEMPTS.fullmatch(master)) is not None:
        return int(found[1])
    if re.fullmatch(r"local(\[[^,\]]*\])?", master):
        return 1
    return int(spark.sparkContext.getConf().get("spark.task.maxFailures") or _ATTEMPTS)


def first_line(error: Exception) -> str:
    """The first line of Spark's long error texts."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _reporting_progress(
    spark: SparkSession, runs_per_task: float, progress: ProgressCallback
) -> Iterator[None]:
    """Polls Spark's progress in a thread, because the caller's thread waits for the job."""
    group, is_finished = f"penstock-sweep-{uuid4().hex}", Event()
    context = spark.sparkContext
    tracker = context.statusTracker()

    def poll() -> None:
        while not is_finished.wait(_POLL_S):
            # Errors of a Spark that is shutting down do not matter here.
            with suppress(Exception):
                progress(runs_per_task * _tasks_done(tracker, group))

    context.setJobGroup(group, "penstock sweep", interruptOnCancel=True)
    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_finished.set()
        thread.join()
        with suppress(Exception):
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _tasks_done(tracker: StatusTracker, group: str) -> int:
    done = 0
    for job in tracker.getJobIdsForGroup(group):
        job_info = tracker.getJobInfo(job)
        for stage in job_info.stageIds if job_info else ():
            info = tracker.getStageInfo(stage)
            done += info.numCompletedTasks if info else 0
    return done
