"""A publisher or a subscriber as a process: reads commands from its input, one a line.

    python -m bench.guaranteed.role publisher SYSTEM ADDRESS STREAM

The first line that it writes says that it is connected; each command is answered by one more. It
ends with its input.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec

from bench.guaranteed.systems import SYSTEMS


class PublishFor(msgspec.Struct, frozen=True):
    """What a publisher is told; a subscriber reads until a marked message, whatever it is told."""

    seconds: float
    in_flight: int


class Ready(msgspec.Struct, frozen=True):
    """Connected."""


async def _serve(role: str, system_name: str, address: str, stream: str) -> None:
    system = next(each for each in SYSTEMS if each.name == system_name)
    if role == "publisher":
        publisher = system.publisher(address, stream)
        await publisher.open()
        _say(Ready())
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            order = msgspec.json.decode(line, type=PublishFor)
            _say(await publisher.publish(order.seconds, order.in_flight))
        await publisher.close()
    else:
        subscriber = system.subscriber(address, stream)
        await subscriber.open()
        _say(Ready())
        while await asyncio.to_thread(sys.stdin.buffer.readline):
            _say(await subscriber.consume())
        await subscriber.close()


def _say(value: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
