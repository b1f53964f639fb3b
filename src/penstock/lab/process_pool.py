"""Runs jobs in several processes and reports the progress of each.

Jobs share only an array into which each writes its simulated time, so the outcome
of a job does not depend on the process that runs it.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Final

from penstock.kernel.errors import PenstockError, UsageError
from penstock.lab.run_cache import run_or_load
from penstock.lab.single_run import Job, Outcome

# Called with the simulated seconds of each job.
ProgressCallback = Callable[[Sequence[float]], None]

_POLL_S: Final = 0.2
_PR_SET_PDEATHSIG: Final = 1
_BLOCKED_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)

_shared_progress: Any = None


def run_all(
    jobs: Sequence[Job],
    *,
    processes: int | None = None,
    progress: ProgressCallback = lambda _times: None,
) -> list[Outcome]:
    """Runs all jobs and returns outcomes in their order; the first failure stops the rest."""
    count = min(len(jobs), processes or os.cpu_count() or 1)
    if count <= 1:
        return _run_sequentially(jobs, progress)
    # Not fork: a child would inherit locks held by the thread that draws the progress bar.
    context = get_context("spawn")
    shared_progress = context.Array("d", len(jobs), lock=False)
    pool = ProcessPoolExecutor(count, context, _init_worker, (shared_progress, os.getpid()))
    futures: list[Future[Outcome]] = []
    try:
        # Ctrl-C also reaches workers, even while they import; only this process may end them.
        with _signals_blocked():
            futures += [pool.submit(_run_in_worker, index, job) for index, job in enumerate(jobs)]
        failed = _first_failed(futures, lambda: progress(list(shared_progress)))
        if failed is not None:
            return [_outcome_of(jobs[failed], futures[failed].result)]
        return [_outcome_of(job, future.result) for job, future in zip(jobs, futures, strict=True)]
    finally:
        # A second Ctrl-C must not leave workers running.
        with _signals_blocked():
            _kill(pool)


def _first_failed(futures: Sequence[Future[Outcome]], on_poll: Callable[[], None]) -> int | None:
    """Waits for all futures or the first failure; returns the index of the first that failed."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_POLL_S, return_when=FIRST_EXCEPTION)
        on_poll()
        if any(future.exception() for future in done):
            break
    failed = (n for n, f in enumerate(futures) if f.done() and not f.cancelled() and f.exception())
    return next(failed, None)


def _kill(pool: Any) -> None:
    """Kills all workers at once, because nobody will use their outcomes.

    An executor has no public way to end a job that has started.
    """
    for process in list(pool._processes.values()):
        process.kill()
    # A worker killed while it sent an outcome leaves a partial one in the pipe. The reader only
    # sees the end of the pipe once this process closes its writing end too.
    pool._result_queue._writer.close()
    pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Blocks signals that end a process; processes and threads started inside keep them blocked.

    Threads need that for SIGPIPE: when the readers of a pipe were killed, the thread that
    writes to it must not be ended, and the whole process with it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED_SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_sequentially(jobs: Sequence[Job], progress: ProgressCallback) -> list[Outcome]:
    times = [0.0] * len(jobs)
    outcomes = []
    for index, job in enumerate(jobs):

        def report(simulated_s: float, job_index: int = index) -> None:
            times[job_index] = simulated_s
            progress(times)

        outcomes.append(_outcome_of(job, lambda job=job, report=report: run_or_load(job, report)))  # type: ignore[misc]
    return outcomes


def _init_worker(shared_progress: Any, parent: int) -> None:
    global _shared_progress  # noqa: PLW0603  (a process has one array)
    _shared_progress = shared_progress
    # When the parent is killed, nobody waits for this worker any more.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _run_in_worker(index: int, job: Job) -> Outcome:
    def report(simulated_s: float) -> None:
        _shared_progress[index] = simulated_s

    return run_or_load(job, report)


def _outcome_of(job: Job, get: Callable[[], Outcome]) -> Outcome:
    """Gets the outcome of a job; an error that is not the user's names the run."""
    try:
        return get()
    except (PenstockError, OSError):
        raise
    except BrokenProcessPool:
        raise UsageError(
            f"a process that ran {job.run_id} was killed: is there enough memory?"
            " Try again with --processes 1"
        ) from None
    except Exception as error:
        replay = (
            f"penstock lab run {job.experiment.id} --profile {job.profile}"
            f" --variant {job.variant} --seed {job.seed}"
        )
        raise RuntimeError(f"{job.run_id} failed ({error!r}); replay it with '{replay}'") from error
