"""The memory of a broker whose only durable subscriber is away, as its log grows.

It may have its caches and 64 MB, and must not grow with what it stores: messages are on disk, and
what it keeps of them, the index and the sizes of segments, is a handful for each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.guaranteed.systems import penstock_streams
from bench.guaranteed.workload import ATTRIBUTES, PAYLOAD
from bench.result import Case, Note, Result
from penstock.guaranteed.settings import RelaySettings
from penstock.live.guaranteed.node import connect
from penstock.live.guaranteed.pending import Pending

# Messages in the log at each measurement.
SIZES: Final = (100_000, 1_000_000)
_IN_FLIGHT: Final = 1_000
_OWN_MB: Final = 64
_STREAM: Final = "orders"
_MB: Final = 1_000_000


def measure(note: Note, sizes: tuple[int, ...] = SIZES) -> Result:
    """Fills a log and looks at its broker; a minute or so for a million messages."""
    cases: list[Case] = []
    cache_mb = RelaySettings().cache_bytes / _MB
    with TemporaryDirectory() as directory, penstock_streams.start(Path(directory)) as server:
        asyncio.run(_create(server.address))
        stored = 0
        for size in sizes:
            note(f"memory of a broker with {size:,} messages")
            asyncio.run(_publish(server.address, size - stored))
            stored = size
            now_mb, peak_mb = server.memory_mb
            goal = f"<= {cache_mb + _OWN_MB:g}"
            cases.append(Case(f"memory, {size:,} messages", "resident", now_mb, "MB"))
            cases.append(Case(f"memory, {size:,} messages", "peak", peak_mb, "MB", goal))
    first, last = cases[0].value, cases[-2].value
    ratio = f"memory at {sizes[-1]:,} messages / at {sizes[0]:,}"
    return Result("guaranteed", cases, {ratio: last / first}, {ratio: "<= 1.1"})


async def _create(address: str) -> None:
    """The stream, and a durable name that keeps all of it and reads nothing."""
    async with connect(address, timeout=30) as node:
        orders = node.stream(_STREAM, create=True)
        async with orders.subscribe(durable="away", start="first"):
            pass


async def _publish(address: str, messages: int) -> None:
    async with connect(address, name="publisher", timeout=30) as node:
        orders = node.stream(_STREAM)
        pending: deque[Pending] = deque()
        for _ in range(messages):
            if len(pending) >= _IN_FLIGHT:
                await pending.popleft()
            pending.append(await orders.submit(ATTRIBUTES, PAYLOAD))
        for each in pending:
            await each
