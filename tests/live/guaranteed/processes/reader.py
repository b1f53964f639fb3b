"""Reads a durable subscription until SIGTERM and notes what it gets: a program of the kill tests.

What it got is on disk before it acknowledges it, and that it is acknowledged behind that. It notes
when it got it by the monotonic clock, which is that of all processes.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns

from penstock import streams
from tests.live.guaranteed.processes.journal import Journal, read_journal


async def read(
    address: str, stream: str, durable: str, filter_: str, path: Path, keeps_checkpoints: bool
) -> None:
    """Goes on behind the last checkpoint of the journal, if it keeps them."""
    checkpoint = None
    if keeps_checkpoints:
        kept = [row["checkpoint"] for row in read_journal(path) if "checkpoint" in row]
        checkpoint = kept[-1] if kept else None
    journal = Journal(path)
    journal.write({"life": True})
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with (
        streams.connect(address, timeout="60s") as node,
        node.stream(stream).subscribe(
            filter_,
            durable=durable,
            start="first",
            ack="manual",
            checkpoint=checkpoint,
            takeover=True,
        ) as inbox,
    ):
        while True:
            messages = await inbox.receive(1_000, wait="60s")
            if messages:
                got = [[message["n"], message.attempt] for message in messages]
                row = {"got": got, "checkpoint": messages[-1].checkpoint, "at_ns": monotonic_ns()}
                journal.write(row)
                await messages[-1].ack()
                journal.write({"acknowledged": messages[-1]["n"]})


if __name__ == "__main__":
    where, of_stream, name, matching, kept, how = sys.argv[1:]
    with suppress(asyncio.CancelledError):
        asyncio.run(read(where, of_stream, name, matching, Path(kept), how == "checkpoint"))
