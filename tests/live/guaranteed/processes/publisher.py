"""Publishes 1, 2, 3 … until SIGTERM, and notes what was confirmed: a program of the kill tests.

A later life repeats what was not confirmed, under the same numbers: it is stored once. It has one
batch on its way at a time, so it never publishes faster than the broker confirms.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Final

from penstock import streams
from tests.live.guaranteed.processes.journal import Journal, read_journal

BATCH: Final = 32


async def publish(
    address: str, stream: str, name: str, path: Path, per_s: float, payload: bytes
) -> None:
    """Goes on behind what the journal has."""
    confirmed = max((row["confirmed"] for row in read_journal(path)), default=0)
    journal = Journal(path)
    is_stopped = False

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    async with streams.connect(address, name=name, timeout="60s") as node:
        into = node.stream(stream, create=True)
        while not is_stopped:
            begun = monotonic()
            batch = range(confirmed + 1, confirmed + 1 + BATCH)
            pending = [
                await into.submit({"n": number, "k": number % 10}, payload, publication=number)
                for number in batch
            ]
            for each in pending:
                await each
            confirmed = batch[-1]
            journal.write({"confirmed": confirmed, "at_ns": monotonic_ns()})
            # No more than so many a second.
            await asyncio.sleep(max(0.0, BATCH / per_s - (monotonic() - begun)))


if __name__ == "__main__":
    where, into_stream, as_publisher, kept, rate, payload_bytes = sys.argv[1:]
    asyncio.run(
        publish(
            where, into_stream, as_publisher, Path(kept), float(rate), bytes(int(payload_bytes))
        )
    )
