"""What tests on real sockets share: a loop with a deadline, waiting for a state, a bad line."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Port, Send
from penstock.live.daemon.broker import RunningBroker, serve
from penstock.live.net.address import port_of
from penstock.live.net.pump import Pump
from penstock.live.network_config import Agreement
from penstock.live.node.node import Node, connect
from penstock.live.node.subscription import Received, Subscription
from penstock.overlay.settings import OverlaySettings
from penstock.transport.settings import constant
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.pub import Pub
from penstock.wire.limits import RECORD_ENTRIES_MAX

T = TypeVar("T")

# A busy machine may be slow; a test that waits so long has failed.
DEADLINE_S = 60.0
# Networks that notice things ten times sooner than usual.
QUICK = Agreement(
    name="test",
    overlay=OverlaySettings(hello_ns=100 * MILLISECOND, coalesce_ns=5 * MILLISECOND),
)

# Longer than any test; what waits under it was not handed over because time passed.
PATIENT = constant(2 * SECOND, record_used=RECORD_ENTRIES_MAX)
# Shorter than anybody notices; what waits under it is handed over soon.
HASTY = constant(MILLISECOND, record_used=RECORD_ENTRIES_MAX)
# An interest whose messages can be told by their records, which say nothing of ranges.
TICKS = "tick = true"


def run(program: Coroutine[object, object, T]) -> T:
    """Runs a test's program on a loop of its own."""

    async def timed() -> T:
        async with asyncio.timeout(DEADLINE_S):
            return await program

    return asyncio.run(timed())


async def until(condition: Callable[[], object]) -> None:
    """Looks again and again, while everything else goes on; the deadline is the test's."""
    while not condition():
        await asyncio.sleep(0.001)


class Line:
    """A machine between a client and its broker that can lose or hold what the client publishes,
    or the messages that it is to get.

    `up` is the port of the broker; the client is whoever else speaks. It is a
    machine like all others, so the same line stands in the simulator and on sockets.
    """

    def __init__(self, up: Port) -> None:
        self._up = up
        self._down: Port | None = None
        self._out: deque[Send[OverlayFrame]] = deque()
        self._held: list[OverlayFrame] = []
        self._to_lose = self._to_hold = 0
        self._lost_for_client = 0
        self._holds_for_client = False
        self.held_for_client: list[OverlayFrame] = []

    def lose_for_client(self) -> None:
        """The next message for the client does not arrive, and those after it wait."""
        self._lost_for_client, self._holds_for_client = 1, True

    def release_for_client(self) -> None:
        """What the client was to get goes on."""
        self._holds_for_client = False
        assert self._down is not None
        self._out.extend([Send(self._down, frame) for frame in self.held_for_client])
        self.held_for_client.clear()

    def lose(self) -> None:
        """The next publication does not arrive."""
        self._to_lose += 1

    def hold(self) -> None:
        """The next publication waits until it is released."""
        self._to_hold += 1

    def release(self) -> None:
        """What was held goes on."""
        self._out.extend([Send(self._up, frame) for frame in self._held])
        self._held.clear()

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        if via == self._up:
            self._to_client(frame)
            return
        self._down = via
        if isinstance(frame, Pub) and self._to_lose:
            self._to_lose -= 1
        elif isinstance(frame, Pub) and self._to_hold:
            self._to_hold -= 1
            self._held.append(frame)
        else:
            self._out.append(Send(self._up, frame))

    def _to_client(self, frame: OverlayFrame) -> None:
        if isinstance(frame, Notify) and self._lost_for_client:
            self._lost_for_client -= 1
        elif isinstance(frame, Notify) and self._holds_for_client:
            self.held_for_client.append(frame)
        elif self._down is not None:
            self._out.append(Send(self._down, frame))

    def wake(self, *, now: Instant) -> None:
        pass

    def next_wakeup(self) -> Instant | None:
        return None

    def poll(self) -> Send[OverlayFrame] | None:
        return self._out.popleft() if self._out else None


class LiveLine:
    """A line on a socket; clients connect to its `address`."""

    def __init__(self, pump: Pump[Line], address: str) -> None:
        self._pump = pump
        self.address = address

    def lose(self) -> None:
        self._pump.call(lambda line, _now: line.lose())

    def hold(self) -> None:
        self._pump.call(lambda line, _now: line.hold())

    def release(self) -> None:
        self._pump.call(lambda line, _now: line.release())

    def lose_for_client(self) -> None:
        self._pump.call(lambda line, _now: line.lose_for_client())

    def release_for_client(self) -> None:
        self._pump.call(lambda line, _now: line.release_for_client())

    @property
    def held_for_client(self) -> int:
        return len(self._pump.machine.held_for_client)


@asynccontextmanager
async def bad_line(broker: str) -> AsyncIterator[LiveLine]:
    """A line to the broker at this address."""
    sock = bound_socket()
    pump = Pump(sock, Line(broker))
    try:
        yield LiveLine(pump, port_of(sock.getsockname()))
    finally:
        pump.close()


def bound_socket() -> socket.socket:
    """On a port of the system's choice."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


@asynccontextmanager
async def network() -> AsyncIterator[tuple[RunningBroker, Node]]:
    async with serve("127.0.0.1:0", agreement=QUICK) as broker, node_at(broker.address) as node:
        yield broker, node


@asynccontextmanager
async def node_at(address: str, publisher: int | None = None) -> AsyncIterator[Node]:
    async with connect(f"udp://{address}", publisher=publisher, agreement=QUICK) as node:
        yield node


async def take(subscription: Subscription, count: int) -> list[Received]:
    messages = aiter(subscription)
    return [await anext(messages) for _ in range(count)]


async def tick(publisher: Node, count: int = 1) -> None:
    for _ in range(count):
        await publisher.publish({"tick": True})


def numbers(messages: list[Received]) -> list[int]:
    return [message.number for message in messages]
