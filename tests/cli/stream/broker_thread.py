"""A real broker in a thread of this process, for commands that the tests run in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort
from tests.live.loopback import DEADLINE_S


@contextmanager
def running_broker(
    directory: Path, *, name: str, parents: tuple[str, ...] = (), listen: str = "127.0.0.1:0"
) -> Iterator[str]:
    """Yields the address of a broker that runs until the block ends."""
    started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stop = asyncio.Event()
        above = [HostPort(*_split(each)) for each in parents]
        broker = StreamBroker(directory, name=name, parents=above)
        await broker.start(HostPort(*_split(listen)))
        started.set_result((broker.address, asyncio.get_running_loop(), stop))
        await stop.wait()
        await broker.close()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    address, loop, stop = started.result(timeout=DEADLINE_S)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
