"""Runs a coroutine until SIGINT or SIGTERM.

For such a program a signal, from Ctrl-C or a supervisor, is the normal end, not an error.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Final

import typer

_EXIT_BROKEN_PIPE: Final = 128 + signal.SIGPIPE


def run(program: Coroutine[object, object, None], *, is_daemon: bool = False) -> None:
    """Runs a program to its end or to a signal, which cancels it; its `finally` blocks run.

    A daemon runs on uvloop, where it is installed: it takes less of the time between two wake-ups.
    """
    # A connection whose other end is gone must not end the process, as a closed pipe does.
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        with asyncio.Runner(loop_factory=_quick_loop() if is_daemon else None) as runner:
            runner.run(_stoppable(program))
    except BrokenPipeError:
        if before is not signal.SIG_DFL:
            raise
        raise typer.Exit(_EXIT_BROKEN_PIPE) from None
    finally:
        signal.signal(signal.SIGPIPE, before)


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Makes event loops of uvloop; None where there is none, as on Windows."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


async def _stoppable(program: Coroutine[object, object, None]) -> None:
    loop = asyncio.get_running_loop()
    task = loop.create_task(program)
    is_stopped = False

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True
        task.cancel()

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not is_stopped:
            raise
    finally:
        if is_stopped:
            # A second Ctrl-C must not suppress the summary that follows.
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
