"""Runs jobs in several processes, and tells how far each is.

Jobs share nothing but a board on which each writes its simulated time, so that
the outcome of a job is the same wherever it runs.
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

# Hears the simulated seconds of each job.
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
    """The outcomes in the order of the jobs; the first failure stops the rest."""
    count = min(len(jobs), processes or os.cpu_count() or 1)
    if count <= 1:
        return _run_sequentially(jobs, progress)
    # Not fork: a child would inherit the threads' locks of whoever draws the progress.
    context = get_context("spawn")
    shared_progress = context.Array("d", len(jobs), lock=False)
    pool = ProcessPoolExecutor(count, context, _init_worker, (shared_progress, os.getpid()))
    futures: list[Future[Outcome]] = []
    try:
        # Ctrl-C reaches workers too, also while they import; but it is for us to end them.
        with _signals_blocked():
            futures += [pool.submit(_run_in_worker, index, job) for index, job in enumerate(jobs)]
        failed = _first_failed(futures, lambda: progress(list(shared_progress)))
        if failed is not None:
            return [_outcome_of(jobs[failed], futures[failed].result)]
        return [_outcome_of(job, future.result) for job, future in zip(jobs, futures, strict=True)]
    finally:
        # A second Ctrl-C must not leave half of them behind.
        with _signals_blocked():
            _kill(pool)


def _first_failed(futures: Sequence[Future[Outcome]], on_poll: Callable[[], None]) -> int | None:
    """Waits for all, or for the first failure."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_POLL_S, return_when=FIRST_EXCEPTION)
        on_poll()
        if any(future.exception() for future in done):
            break
    failed = (n for n, f in enumerate(futures) if f.done() and not f.cancelled() and f.exception())
    return next(failed, None)


def _kill(pool: Any) -> None:
    """At once: whoever still runs finds what nobody will look at.

    An executor has no public way to end a job that has begun.
    """
    for process in list(pool._processes.values()):
        process.kill()
    # Who was killed in the middle of an answer left half of it: without us as a writer it ends.
    pool._result_queue._writer.close()
    pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Whoever wants us to stop waits until its end; processes started in it never hear of it.

    Nor do threads: a pipe whose readers were killed must not end the thread that fills it,
    and with it us.
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

        def report(simulated_s: float, number: int = index) -> None:
            times[number] = simulated_s
            progress(times)

        outcomes.append(_outcome_of(job, lambda job=job, tell=report: run_or_load(job, tell)))  # type: ignore[misc]
    return outcomes


def _init_worker(shared_progress: Any, parent: int) -> None:
    global _shared_progress  # noqa: PLW0603  (a process has one board)
    _shared_progress = shared_progress
    # When whoever asked is killed, nobody waits for us any more.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _run_in_worker(index: int, job: Job) -> Outcome:
    def report(simulated_s: float) -> None:
        _shared_progress[index] = simulated_s

    return run_or_load(job, report)


def _outcome_of(job: Job, get: Callable[[], Outcome]) -> Outcome:
    """The outcome; an error that is not the caller's says which run it was."""
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
        replay = f"penstock lab run {job.experiment.id} --profile {job.profile} --seed {job.seed}"
        raise RuntimeError(f"{job.run_id} failed ({error!r}); replay it with '{replay}'") from error
