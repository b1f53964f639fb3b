"""A stream may be deleted while others read it: they are told, and the broker goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

import pytest

from penstock import streams
from penstock.guaranteed.log_record import Fetched
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.log.log import PubendLog
from penstock.live.net.address import HostPort

ANYWHERE = HostPort("127.0.0.1", 0)
# More than there are threads that read logs.
READERS = 4


async def told_why(stream: streams.Stream) -> str:
    """Reads until the stream is gone."""
    try:
        async with stream.subscribe(start="first") as inbox:
            async for _ in inbox:
                pass
    except streams.RefusedError as error:
        return str(error.reason)
    return "ended"


def test_a_log_that_is_deleted_while_it_is_read_is_no_failure_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_reading, may_read = Event(), Event()
    fetch = PubendLog.fetch

    def fetch_late(log: PubendLog, start: int, stop: int, bytes_max: int) -> Fetched:
        is_reading.set()
        assert may_read.wait(20)
        return fetch(log, start, stop, bytes_max)

    async def fill() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        async with streams.connect(broker.address) as node:
            await node.stream("orders", create=True).publish({"n": 1})
        await broker.close()

    async def main() -> None:
        await fill()
        monkeypatch.setattr(PubendLog, "fetch", fetch_late)
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        async with streams.connect(broker.address) as node:
            orders = node.stream("orders")
            reading = [asyncio.create_task(told_why(orders)) for _ in range(READERS)]
            await asyncio.to_thread(is_reading.wait, 20)
            await node.delete_stream("orders")
            assert {await each for each in reading} == {"unknown_stream"}
            may_read.set()
            while broker.machine.disk.unanswered:
                await asyncio.sleep(0)
            await node.stream("later", create=True).publish({"n": 1})
        await broker.close()

    try:
        asyncio.run(asyncio.wait_for(main(), 30))
    finally:
        may_read.set()
