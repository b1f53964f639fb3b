"""Lines of a pipe, a terminal or a file, read and written without holding up the loop.

A thread would do, but could not be stopped while it waits.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable
from typing import Final

# Longer lines come in pieces of about this size, and no reader will like them.
LINE_BYTES_MAX: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 16


async def lines(descriptor: int) -> AsyncIterator[bytes]:
    """Each line without its end, the last one whether it is ended or not."""
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
    """Of a file, or a pipe that has a name and perhaps nobody who writes to it yet."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        async for line in lines(descriptor):
            yield line
    finally:
        os.close(descriptor)


class LineWriter:
    """Whoever writes waits for a slow reader, and nobody else does."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: Final = descriptor
        # What is not written yet: who is stopped while it waits does not leave half a line.
        self._rest = b""
        self._lock: Final = asyncio.Lock()

    async def write(self, line: bytes) -> None:
        """One line and its end."""
        self._rest += line + b"\n"
        await self.flush()

    async def flush(self) -> None:
        """What others were stopped in writing."""
        async with self._lock:
            while self._rest:
                await self._wait_writable()
                # So much goes into a pipe at once that has any room.
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
    """Until it can be read, or written."""
    is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ready() -> None:
        # At once: the loop may come by again before whoever waits does.
        remove(descriptor)
        if not is_ready.done():
            is_ready.set_result(None)

    try:
        add(descriptor, ready)
    except PermissionError:
        # A file is always ready, and cannot be waited for.
        await asyncio.sleep(0)
    else:
        try:
            await is_ready
        finally:
            remove(descriptor)
