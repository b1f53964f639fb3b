"""How far a long command is, on standard error of a terminal."""

from __future__ import annotations

import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

# Work that is done before needs none.
_FIRST_S: Final = 2.0
_EVERY_S: Final = 0.5
_SPEED_SAMPLES: Final = 8
_WIPE: Final = "\r\x1b[K"


@contextmanager
def progress_of(stored: Callable[[], int]) -> Iterator[None]:
    """Shows how many messages are on disk while the block runs, and how many a second."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    import asyncio

    showing = asyncio.get_running_loop().create_task(_show(stored))
    try:
        yield
    finally:
        showing.cancel()
        # Whatever was shown is wiped out.
        sys.stderr.write(_WIPE)
        sys.stderr.flush()


@contextmanager
def progress_of_bytes(what: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told of bytes that are done; shows a bar with the time left."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _size_bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.progress import TransferSpeedColumn as SpeedColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        DownloadColumn(),
        SpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total_bytes)
        yield lambda size_bytes: bar.advance(task, size_bytes)


@contextmanager
def progress_line(text: Callable[[], str], *, is_shown: bool) -> Iterator[Callable[[str], None]]:
    """Shows a line that changes while the block runs; yields what prints a line that stays."""
    if not is_shown or sys.stderr is None or not sys.stderr.isatty():
        yield _say
        return
    import asyncio

    showing = asyncio.get_running_loop().create_task(_show_line(text))
    try:
        yield lambda line: _say(f"{_WIPE}{line}")
    finally:
        showing.cancel()
        sys.stderr.write(_WIPE)
        sys.stderr.flush()


class Speed:
    """How much of something is done a second, over the last few seconds."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock: Final = clock
        self._seen: Final[deque[tuple[float, int]]] = deque(maxlen=_SPEED_SAMPLES)

    def of(self, done: int) -> float:
        """Notes how much is done by now."""
        now = self._clock()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        since, before = self._seen[0]
        return (done - before) / max(now - since, 1e-3)


def _say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


async def _show_line(text: Callable[[], str]) -> None:
    import asyncio

    while True:
        await asyncio.sleep(_EVERY_S)
        # A longer line would stay on the screen.
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"{_WIPE}{text()[:columns]}")
        sys.stderr.flush()


async def _show(stored: Callable[[], int]) -> None:
    import asyncio

    now = asyncio.get_running_loop().time
    started_s = now()
    await asyncio.sleep(_FIRST_S)
    while True:
        rate = stored() / max(now() - started_s, 1e-3)
        sys.stderr.write(f"{_WIPE}{stored():,} messages are on disk, {rate:,.0f}/s")
        sys.stderr.flush()
        await asyncio.sleep(_EVERY_S)
