"""Our own streams: one broker process with every role."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from pathlib import Path
from time import monotonic_ns
from typing import Final

from bench.guaranteed.clients import Consumed, Published, publish_window
from bench.guaranteed.processes import ServerProcess, free_port
from bench.guaranteed.workload import ACK_EVERY, ATTRIBUTES, LAST_PAYLOAD, PAYLOAD, is_last
from penstock.api.stream_message import StreamMessage
from penstock.live.guaranteed.node import StreamNode, connect
from penstock.live.guaranteed.stream import Stream
from penstock.live.guaranteed.subscription import StreamSubscription

_WAIT: Final = "60s"


def missing() -> str:
    """Nothing is: it is this package."""
    return ""


def start(directory: Path) -> ServerProcess:
    """Starts `penstock stream broker`."""
    address = f"127.0.0.1:{free_port()}"
    command = [
        *(sys.executable, "-m", "penstock", "stream", "broker"),
        *("--directory", str(directory / "streams"), "--listen", address),
    ]
    return ServerProcess(command, address, directory)


class Publisher:
    """A named publisher that keeps submitting."""

    def __init__(self, address: str, stream: str) -> None:
        self._opening: Final = connect(address, name="publisher", timeout=10)
        self._name: Final = stream
        self._node: StreamNode
        self._stream: Stream

    async def open(self) -> None:
        """Connects."""
        self._node = await self._opening
        self._stream = self._node.stream(self._name)

    async def publish(self, seconds: float, in_flight: int) -> Published:
        """Publishes for so long."""
        return await publish_window(self._submit, seconds, in_flight)

    async def _submit(self, is_last: bool) -> Awaitable[object]:
        return await self._stream.submit(ATTRIBUTES, LAST_PAYLOAD if is_last else PAYLOAD)

    async def close(self) -> None:
        """Ends the connection."""
        await self._node.aclose()


class Subscriber:
    """Reads batches under a durable name and acknowledges as seldom as clients of others do."""

    def __init__(self, address: str, stream: str) -> None:
        self._opening: Final = connect(address, timeout=10)
        self._name: Final = stream
        self._node: StreamNode
        self._inbox: StreamSubscription
        # Those that the host has not stored yet.
        self._acks: Final[set[asyncio.Task[None]]] = set()

    async def open(self) -> None:
        """Creates the stream and the durable name."""
        self._node = await self._opening
        stream = self._node.stream(self._name, create=True)
        self._inbox = await stream.subscribe(
            durable=f"reader of {self._name}", start="first", ack="manual"
        )

    async def consume(self) -> Consumed:
        """Reads up to the next marked message."""
        messages = unacknowledged = 0
        while True:
            batch = await self._inbox.receive(ACK_EVERY, wait=_WAIT)
            messages += len(batch)
            unacknowledged += len(batch)
            ends = not batch or is_last(batch[-1].payload)
            if batch and (ends or unacknowledged >= ACK_EVERY):
                unacknowledged = 0
                self._acknowledge(batch[-1])
            if ends:
                # So that the acknowledgement leaves.
                await asyncio.sleep(0)
                return Consumed(messages, monotonic_ns())

    def _acknowledge(self, message: StreamMessage) -> None:
        """Without waiting until it is stored."""
        task = asyncio.create_task(message.ack())
        self._acks.add(task)
        task.add_done_callback(self._acks.discard)

    async def close(self) -> None:
        """Ends the connection."""
        await asyncio.gather(*self._acks)
        await self._inbox.aclose()
        await self._node.aclose()
