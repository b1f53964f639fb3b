"""Lines of a pipe, a terminal or a file, read without holding up the loop.

A thread would do, but could not be stopped while it waits for input.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

# Longer lines come in pieces of about this size, and no reader will like them.
LINE_BYTES_MAX: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 16


async def lines(descriptor: int) -> AsyncIterator[bytes]:
    """Each line without its end, the last one whether it is ended or not."""
    rest = b""
    while chunk := await _chunk(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if len(rest) > LINE_BYTES_MAX:
            yield rest
            rest = b""
    if rest:
        yield rest


async def _chunk(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()

    def ready() -> None:
        # At once: the loop may come by again before whoever waits does.
        loop.remove_reader(descriptor)
        if not readable.done():
            readable.set_result(None)

    try:
        loop.add_reader(descriptor, ready)
    except PermissionError:
        # A file is always readable, and cannot be waited for.
        await asyncio.sleep(0)
    else:
        try:
            await readable
        finally:
            loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
