"""RabbitMQ on one node: durable queues of persistent messages with publisher confirms.

A quorum queue (of one member) syncs before it confirms. A classic queue does too, in larger
batches, except for messages that a consumer has acknowledged before: those need no disk.

Through pika, with callbacks: several times quicker than aiormq, on which aio-pika rests. A node
needs Erlang's port mapper, `epmd`, which would stay behind as a daemon: ours is a child as well.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final

from bench.guaranteed.clients import Consumed, PhaseCounter, Published
from bench.guaranteed.processes import ServerProcess, free_port
from bench.guaranteed.workload import ACK_EVERY, BODY, LAST_BODY, is_last

if TYPE_CHECKING:
    from pika.adapters.asyncio_connection import AsyncioConnection
    from pika.channel import Channel

HOW_TO_INSTALL: Final = "apt-get install rabbitmq-server, and pip install pika"
# Debian's own start script changes the user, so that directories cannot be chosen.
_PLACES: Final = ("/usr/lib/rabbitmq/bin/rabbitmq-server",)
_PREFETCH: Final = 1_000
_CLASSIC: Final[dict[str, Any]] = {"x-queue-type": "classic"}
_QUORUM: Final[dict[str, Any]] = {"x-queue-type": "quorum"}


def missing() -> str:
    """What is not installed, or nothing."""
    if _program() is None or shutil.which("epmd") is None:
        return f"there is no rabbitmq-server: {HOW_TO_INSTALL}"
    return "" if find_spec("pika") else f"there is no pika: {HOW_TO_INSTALL}"


def _program() -> str | None:
    for place in _PLACES:
        if os.access(place, os.X_OK):
            return place
    return shutil.which("rabbitmq-server")


def start(directory: Path) -> ServerProcess:
    """Starts a node with everything it writes in `directory`."""
    address, mapper_port = f"127.0.0.1:{free_port()}", free_port()
    settings = {
        "rabbitmq.conf": f"listeners.tcp.1 = {address}\nlog.file.level = error\n",
        "plugins": "[].\n",
        "environment": "",
    }
    for name, text in settings.items():
        (directory / name).write_text(text)
    environment = {
        "HOME": str(directory),
        "ERL_EPMD_PORT": str(mapper_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"bench{mapper_port}@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "environment"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_PID_FILE": str(directory / "pid"),
    }
    program = _program()
    assert program is not None
    return ServerProcess([program], address, directory, environment=environment, helper=["epmd"])


class _Connection:
    """One connection with one channel, whose callbacks become awaitable."""

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.partition(":")
        self._connection: AsyncioConnection
        self.channel: Channel

    async def open(self) -> None:
        """Connects and opens the channel."""
        from pika import ConnectionParameters
        from pika.adapters.asyncio_connection import AsyncioConnection

        parameters = ConnectionParameters(self._host, int(self._port))
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def fail(_connection: object, error: BaseException) -> None:
            if not opened.done():
                opened.set_exception(ConnectionError(str(error)))

        self._connection = AsyncioConnection(
            parameters,
            on_open_callback=lambda _connection: opened.set_result(None),
            on_open_error_callback=fail,
            custom_ioloop=asyncio.get_running_loop(),
        )
        await opened
        self.channel = await self.answer(
            lambda call: self._connection.channel(on_open_callback=call)
        )

    async def answer(self, ask: Callable[[Callable[[Any], None]], object]) -> Any:
        """What `ask` has its callback called with."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ask(answered.set_result)
        return await answered

    async def close(self) -> None:
        """Ends the connection; the broker ends what is left of it."""
        closed = asyncio.get_running_loop().create_future()
        self._connection.add_on_close_callback(lambda *_: closed.set_result(None))
        self._connection.close()
        await closed


class Publisher:
    """Publishes from the callback that gets confirmations."""

    def __init__(self, address: str, queue: str) -> None:
        self._link: Final = _Connection(address)
        self._queue: Final = queue
        # Delivery tags in order; some of them are confirmed before those in front of them.
        self._unconfirmed: Final[deque[int]] = deque()
        self._confirmed_early: Final[set[int]] = set()
        self._tag = 0
        self._on_confirmed: Callable[[], None]

    async def open(self) -> None:
        """Connects and asks for confirms."""
        from pika import BasicProperties, DeliveryMode

        await self._link.open()
        self._properties = BasicProperties(delivery_mode=DeliveryMode.Persistent)
        channel = self._link.channel
        await self._link.answer(
            lambda call: channel.confirm_delivery(self._on_confirm, callback=call)
        )

    async def publish(self, seconds: float, in_flight: int) -> Published:
        """Publishes for so long."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        started_ns = monotonic_ns()
        stop_ns = started_ns + int(seconds * 1e9)
        first_tag, latencies_ns = self._tag, []
        begun_ns = started_ns
        is_ending = False

        def publish_more() -> None:
            nonlocal begun_ns, is_ending
            now_ns = monotonic_ns()
            if in_flight == 1 and self._tag > first_tag and not is_ending:
                latencies_ns.append(now_ns - begun_ns)
            while len(self._unconfirmed) - len(self._confirmed_early) < in_flight:
                begun_ns = monotonic_ns()
                if begun_ns >= stop_ns:
                    break
                self._put(BODY)
            else:
                return
            if not is_ending:
                is_ending = True
                self._put(LAST_BODY)
            elif not self._unconfirmed and not done.done():
                done.set_result(None)

        self._on_confirmed = publish_more
        publish_more()
        await done
        return Published(self._tag - first_tag, started_ns, monotonic_ns(), latencies_ns)

    def _put(self, body: bytes) -> None:
        self._tag += 1
        self._unconfirmed.append(self._tag)
        self._link.channel.basic_publish("", self._queue, body, self._properties)

    def _on_confirm(self, frame: Any) -> None:
        from pika.spec import Basic

        method, unconfirmed, early = frame.method, self._unconfirmed, self._confirmed_early
        if not isinstance(method, Basic.Ack):
            raise RuntimeError(f"the broker refused message {method.delivery_tag}")
        tag: int = method.delivery_tag
        if method.multiple:
            while unconfirmed and unconfirmed[0] <= tag:
                early.discard(unconfirmed.popleft())
        else:
            early.add(tag)
            while unconfirmed and unconfirmed[0] in early:
                early.remove(unconfirmed.popleft())
        self._on_confirmed()

    async def close(self) -> None:
        """Ends the connection."""
        await self._link.close()


class _Subscriber:
    """A consumer that acknowledges many at once."""

    arguments: dict[str, Any]

    def __init__(self, address: str, queue: str) -> None:
        self._link: Final = _Connection(address)
        self._queue: Final = queue
        self._counter: Final = PhaseCounter()

    async def open(self) -> None:
        """Declares the queue and consumes."""
        await self._link.open()
        channel, answer = self._link.channel, self._link.answer
        await answer(
            lambda call: channel.queue_declare(
                self._queue, durable=True, arguments=self.arguments, callback=call
            )
        )
        await answer(lambda call: channel.basic_qos(prefetch_count=_PREFETCH, callback=call))
        await answer(
            lambda call: channel.basic_consume(self._queue, self._on_message, callback=call)
        )

    def _on_message(self, channel: Channel, method: Any, _properties: object, body: bytes) -> None:
        number = self._counter.add()
        ends = is_last(body)
        if ends or number % ACK_EVERY == 0:
            channel.basic_ack(method.delivery_tag, multiple=True)
        if ends:
            self._counter.end_phase()

    async def consume(self) -> Consumed:
        """Reads up to the next marked message."""
        return await self._counter.phase()

    async def close(self) -> None:
        """Ends the connection."""
        await self._link.close()


class ClassicSubscriber(_Subscriber):
    """Of a classic queue."""

    arguments = _CLASSIC


class QuorumSubscriber(_Subscriber):
    """Of a quorum queue, with one member."""

    arguments = _QUORUM
