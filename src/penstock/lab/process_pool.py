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
Board = Callable[[Sequence[float]], None]

_POLL_S: Final = 0.2
_PR_SET_PDEATHSIG: Final = 1
_UNHEARD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)

_board: Any = None


def run_all(
    jobs: Sequence[Job], *, processes: int | None = None, progress: Board = lambda _times: None
) -> list[Outcome]:
    """The outcomes in the order of the jobs; the first failure stops the rest."""
    count = min(len(jobs), processes or os.cpu_count() or 1)
    if count <= 1:
        return _one_by_one(jobs, progress)
    # Not fork: a child would inherit the threads' locks of whoever draws the progress.
    context = get_context("spawn")
    board = context.Array("d", len(jobs), lock=False)
    pool = ProcessPoolExecutor(count, context, _pin, (board, os.getpid()))
    futures: list[Future[Outcome]] = []
    try:
        # Ctrl-C reaches workers too, also while they import; but it is for us to end them.
        with _deaf():
            futures += [pool.submit(_run, number, job) for number, job in enumerate(jobs)]
        failed = _first_failed(futures, lambda: progress(list(board)))
        if failed is not None:
            return [_told(jobs[failed], futures[failed].result)]
        return [_told(job, future.result) for job, future in zip(jobs, futures, strict=True)]
    finally:
        # A second Ctrl-C must not leave half of them behind.
        with _deaf():
            _end(pool)


def _first_failed(futures: Sequence[Future[Outcome]], tell: Callable[[], None]) -> int | None:
    """Waits for all, or for the first failure."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=_POLL_S, return_when=FIRST_EXCEPTION)
        tell()
        if any(future.exception() for future in done):
            break
    failed = (n for n, f in enumerate(futures) if f.done() and not f.cancelled() and f.exception())
    return next(failed, None)


def _end(pool: Any) -> None:
    """At once: whoever still runs finds what nobody will look at.

    An executor has no public way to end a job that has begun.
    """
    for process in list(pool._processes.values()):
        process.kill()
    # Who was killed in the middle of an answer left half of it: without us as a writer it ends.
    pool._result_queue._writer.close()
    pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Whoever wants us to stop waits until its end; processes started in it never hear of it.

    Nor do threads: a pipe whose readers were killed must not end the thread that fills it,
    and with it us.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _UNHEARD)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one_by_one(jobs: Sequence[Job], progress: Board) -> list[Outcome]:
    times = [0.0] * len(jobs)
    outcomes = []
    for number, job in enumerate(jobs):

        def tell(simulated_s: float, number: int = number) -> None:
            times[number] = simulated_s
            progress(times)

        outcomes.append(_told(job, lambda job=job, tell=tell: run_or_load(job, tell)))  # type: ignore[misc]
    return outcomes


def _pin(board: Any, parent: int) -> None:
    global _board  # noqa: PLW0603  (a process has one board)
    _board = board
    # When whoever asked is killed, nobody waits for us any more.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _run(number: int, job: Job) -> Outcome:
    def tell(simulated_s: float) -> None:
        _board[number] = simulated_s

    return run_or_load(job, tell)


def _told(job: Job, get: Callable[[], Outcome]) -> Outcome:
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
