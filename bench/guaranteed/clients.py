"""What a role process asks of a system's client, and how many messages are kept in flight."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic_ns
from typing import Protocol, TypeAlias

import msgspec

Submit: TypeAlias = Callable[[bool], Awaitable[Awaitable[object]]]


class Published(msgspec.Struct, frozen=True):
    """One phase of a publisher; times are of the clock that all processes share."""

    messages: int
    started_ns: int
    confirmed_ns: int
    # From a publication to its confirmation, with one in flight.
    latencies_ns: list[int] = []


class Consumed(msgspec.Struct, frozen=True):
    """One phase of a subscriber: until the acknowledgement of the last message was sent."""

    messages: int
    acknowledged_ns: int


class Publisher(Protocol):
    """A client that publishes."""

    async def open(self) -> None:
        """Connects."""

    async def publish(self, seconds: float, in_flight: int) -> Published:
        """Publishes for so long and waits for all confirmations; the last message is marked."""

    async def close(self) -> None:
        """Ends the connection."""


class Subscriber(Protocol):
    """A client that reads under a durable name and acknowledges."""

    async def open(self) -> None:
        """Creates what messages go to, connects and reads from now on."""

    async def consume(self) -> Consumed:
        """Reads up to the next marked message."""

    async def close(self) -> None:
        """Ends the connection."""


async def publish_window(submit: Submit, seconds: float, in_flight: int) -> Published:
    """Publishes by `submit(is_last)`, which returns what to await for the confirmation."""
    started_ns = monotonic_ns()
    stop_ns = started_ns + int(seconds * 1e9)
    messages, latencies_ns = 0, []
    pending: deque[Awaitable[object]] = deque()
    if in_flight == 1:
        while (begun_ns := monotonic_ns()) < stop_ns:
            await (await submit(False))
            latencies_ns.append(monotonic_ns() - begun_ns)
        messages = len(latencies_ns)
    else:
        while monotonic_ns() < stop_ns:
            if len(pending) == in_flight:
                await pending.popleft()
            pending.append(await submit(False))
            messages += 1
    pending.append(await submit(True))
    for each in pending:
        await each
    return Published(messages + 1, started_ns, monotonic_ns(), latencies_ns)


class PhaseCounter:
    """Counts messages that a callback gets, and says when a phase has ended."""

    def __init__(self) -> None:
        self._messages = 0
        self._phases: asyncio.Queue[Consumed] = asyncio.Queue()

    def add(self) -> int:
        """One more; returns how many the phase has so far."""
        self._messages += 1
        return self._messages

    def end_phase(self) -> None:
        """The last message is acknowledged."""
        self._phases.put_nowait(Consumed(self._messages, monotonic_ns()))
        self._messages = 0

    async def phase(self) -> Consumed:
        """The next phase that has ended."""
        return await self._phases.get()
