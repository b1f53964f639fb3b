"""One Spark task: runs several jobs one after another on an executor.

A failed run is reported, and the next one starts. If the process is killed, Spark
retries the task, perhaps elsewhere, and the task skips the runs that are done. A run
that kills its process every time would fail the whole sweep; it is therefore given
up and reported as failed.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import Broadcast, TaskContext

from penstock.kernel.errors import PenstockError
from penstock.lab.run_cache import run_or_load
from penstock.pipeline.sweep.plan import SweepJob, is_done

_REPORT_SCHEMA: Final = pa.schema(
    [("job", pa.int64()), ("error", pa.string()), ("trace", pa.string())]
)
# A run is given up after killing this many processes.
_DEATHS_MAX: Final = 2


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run."""

    run: str
    settings: dict[str, str]
    variant: str
    seed: int
    error: str
    traceback: str = ""


def run_task(
    shared: Broadcast[tuple[SweepJob, ...]], tasks: int, attempts: int, batches: Iterable[Any]
) -> Iterator[Any]:
    """The function for `mapInArrow` over task numbers; yields a row per run, with its error.

    Runs are assigned round-robin, so that those of a slow point go to different tasks.
    """
    jobs = shared.value
    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    for batch in batches:
        for task in batch.column("id").to_pylist():
            for index in range(task, len(jobs), tasks):
                error, trace = run_unless_done(jobs[index], attempt=attempt, attempts=attempts)
                report = {"job": [index], "error": [error], "trace": [trace]}
                yield pa.RecordBatch.from_pydict(report, _REPORT_SCHEMA)


def run_unless_done(job: SweepJob, *, attempt: int, attempts: int) -> tuple[str | None, str | None]:
    """Runs a job unless it is done; returns its error and traceback, None if it succeeded."""
    if (job.resume or attempt) and is_done(job):
        return None, None
    marker = job.cached_path.with_name(f".{job.run_id}.begun")
    deaths = _count_deaths(marker, attempt)
    if deaths >= _DEATHS_MAX or (deaths and attempt + 1 == attempts):
        marker.unlink()
        times = "once" if deaths == 1 else f"{deaths} times"
        return f"its process was killed {times}: is there enough memory?", None
    try:
        run_or_load(msgspec.structs.replace(job, resume=False), lambda _simulated_s: None)
    except PenstockError as error:
        return str(error), None
    except Exception as error:
        return f"{type(error).__name__}: {error}", traceback.format_exc()
    finally:
        marker.unlink(missing_ok=True)
    return None, None


def _count_deaths(marker: Path, attempt: int) -> int:
    """Records the start of a run; returns how many processes it has killed in this sweep."""
    marker.parent.mkdir(parents=True, exist_ok=True)
    if attempt == 0:
        marker.unlink(missing_ok=True)
    with marker.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len(marker.read_text().splitlines()) - 1
