"""How far a long command is, on standard error of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

# Work that is done before needs none.
_FIRST_S: Final = 2.0
_EVERY_S: Final = 0.5


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
        sys.stderr.write("\r\x1b[K")
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


async def _show(stored: Callable[[], int]) -> None:
    import asyncio

    now = asyncio.get_running_loop().time
    started_s = now()
    await asyncio.sleep(_FIRST_S)
    while True:
        rate = stored() / max(now() - started_s, 1e-3)
        sys.stderr.write(f"\r\x1b[K{stored():,} messages are on disk, {rate:,.0f}/s")
        sys.stderr.flush()
        await asyncio.sleep(_EVERY_S)
