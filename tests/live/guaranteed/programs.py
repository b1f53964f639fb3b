"""Programs that use streams, with a broker in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from penstock import streams
from penstock.guaranteed.settings import BrokerSettings, HostSettings
from penstock.kernel.instant import MILLISECOND
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort

Program = Callable[[streams.StreamNode], Awaitable[None]]
# What failed comes again at once.
IMPATIENT = BrokerSettings(host=HostSettings(fail_retry_ns=MILLISECOND))


@asynccontextmanager
async def broker_at(directory: Path, port: int = 0) -> AsyncIterator[StreamBroker]:
    """A broker that listens."""
    broker = StreamBroker(directory, name="b1", settings=IMPATIENT)
    await broker.start(HostPort("127.0.0.1", port))
    try:
        yield broker
    finally:
        await broker.close()


def run(directory: Path, program: Program) -> None:
    """Runs a program that is connected to a broker of its own."""

    async def main() -> None:
        async with broker_at(directory) as broker, streams.connect(broker.address) as node:
            await asyncio.wait_for(program(node), 20)

    asyncio.run(main())


async def published(
    node: streams.StreamNode, *numbers: int, name: str = "orders"
) -> streams.Stream:
    """A stream with these messages."""
    stream = node.stream(name, create=True)
    for pending in [await stream.submit({"n": number}) for number in numbers]:
        await pending
    return stream


async def numbers_of(inbox: streams.StreamSubscription, count: int) -> list[int]:
    """So many messages, one after another."""
    return [(await anext(inbox))["n"] for _ in range(count)]


async def messages_of(inbox: streams.StreamSubscription, count: int) -> list[streams.StreamMessage]:
    """So many messages; `receive` returns as soon as there is any."""
    messages: list[streams.StreamMessage] = []
    while len(messages) < count:
        messages += await inbox.receive(count - len(messages), wait="5s")
    return messages
