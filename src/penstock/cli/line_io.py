"""Reads and writes lines of a pipe, terminal or file without blocking the event loop.

Not done by a thread, because a thread cannot be stopped while it waits.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable
from typing import Final

# Longer lines are split into pieces of about this size, which callers then reject.
LINE_BYTES_MAX: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 16


async def lines(descriptor: int) -> AsyncIterator[bytes]:
    """Yields each line without its line end; the last line may lack one."""
    rest = b""
    while chunk := await _read_chunk(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if len(rest) > LINE_BYTES_MAX:
            yield rest
            rest = b""
    if rest:
        yield rest


async def lines_of(path: str) -> AsyncIterator[bytes]:
    """Yields the lines of a file or a named pipe, which may have no writer yet."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        async for line in lines(descriptor):
            yield line
    finally:
        os.close(descriptor)


class LineWriter:
    """Writes lines; only the writing task waits for a slow reader, not the loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: Final = descriptor
        # Bytes not written yet: a task cancelled while it waits leaves no partial line.
        self._rest = b""
        self._lock: Final = asyncio.Lock()

    async def write(self, line: bytes) -> None:
        """Writes one line and a line end."""
        self._rest += line + b"\n"
        await self.flush()

    async def flush(self) -> None:
        """Writes what is left, also of tasks that were cancelled while writing."""
        async with self._lock:
            while self._rest:
                await self._wait_writable()
                # A writable pipe takes PIPE_BUF bytes without blocking.
                written = os.write(self._descriptor, self._rest[: select.PIPE_BUF])
                self._rest = self._rest[written:]

    async def _wait_writable(self) -> None:
        _, writable, _ = select.select((), (self._descriptor,), (), 0)
        if not writable:
            loop = asyncio.get_running_loop()
            await _wait_until_ready(self._descriptor, loop.add_writer, loop.remove_writer)


async def _read_chunk(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    await _wait_until_ready(descriptor, loop.add_reader, loop.remove_reader)
    return os.read(descriptor, _CHUNK_BYTES)


async def _wait_until_ready(
    descriptor: int,
    add: Callable[[int, Callable[[], None]], object],
    remove: Callable[[int], object],
) -> None:
    """Waits until the descriptor can be read or written."""
    is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ready() -> None:
        # Removed here, because the loop may call this again before the waiting task resumes.
        remove(descriptor)
        if not is_ready.done():
            is_ready.set_result(None)

    try:
        add(descriptor, ready)
    except PermissionError:
        # epoll rejects regular files, which are always ready.
        await asyncio.sleep(0)
    else:
        try:
            await is_ready
        finally:
            remove(descriptor)
