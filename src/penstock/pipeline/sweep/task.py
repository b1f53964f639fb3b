"""What one task does on an executor: some runs, one after the other.

A run that fails says why, and the next begins. A process that is killed takes its
task with it, and Spark starts the task again, elsewhere perhaps: it then leaves out
the runs that were finished. One that kills its process every time would take the
whole sweep with it; so it is given up, and told as failed.
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
# So many processes may die of one run.
_DEATHS_MAX: Final = 2


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A run that came to nothing."""

    run: str
    settings: dict[str, str]
    variant: str
    seed: int
    error: str
    traceback: str = ""


def run_task(
    shared: Broadcast[tuple[SweepJob, ...]], tasks: int, attempts: int, batches: Iterable[Any]
) -> Iterator[Any]:
    """For `mapInArrow`, over the numbers of tasks: each says of its runs why they failed, if so.

    Runs are dealt out like cards: those of a slow point come to different tasks.
    """
    jobs = shared.value
    context = TaskContext.get()
    attempt = 0 if context is None else context.attemptNumber()
    for batch in batches:
        for task in batch.column("id").to_pylist():
            for at in range(task, len(jobs), tasks):
                error, trace = run_unless_done(jobs[at], attempt=attempt, attempts=attempts)
                report = {"job": [at], "error": [error], "trace": [trace]}
                yield pa.RecordBatch.from_pydict(report, _REPORT_SCHEMA)


def run_unless_done(job: SweepJob, *, attempt: int, attempts: int) -> tuple[str | None, str | None]:
    """Runs it, unless that is done; returns why it failed, and where."""
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
    """Notes that this process begins a run; returns how many have died of it in this sweep."""
    marker.parent.mkdir(parents=True, exist_ok=True)
    if attempt == 0:
        marker.unlink(missing_ok=True)
    with marker.open("a") as file:
        file.write(f"{os.getpid()}\n")
    return len(marker.read_text().splitlines()) - 1
