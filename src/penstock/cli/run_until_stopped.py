"""Runs a program that lasts until somebody stops it.

Being told to stop, by Ctrl-C or by a supervisor, is how such a program ends well.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine


def run(program: Coroutine[object, object, None]) -> None:
    """Until it is done, or a signal ends it; its `finally` and `async with` run either way."""
    asyncio.run(_stoppable(program))


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
            # Who presses Ctrl-C twice still wants to read what is said at the end.
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
