"""A disk without room for a first segment: a stream that is created there refuses what comes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from penstock import streams
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.log.file_system import OsFileSystem
from penstock.live.net.address import HostPort
from tests.live.loopback import DEADLINE_S


def test_a_stream_created_on_a_full_disk_refuses_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(HostPort("127.0.0.1", 0))
        async with streams.connect(broker.address) as node:
            with monkeypatch.context() as full:
                full.setattr(OsFileSystem, "free_bytes", lambda *_: 0)
                await node.create_stream("orders")
                orders = node.stream("orders")
                with pytest.raises(streams.RefusedError) as caught:
                    await orders.publish({"n": 1}, timeout=2)
                assert caught.value.reason == "disk_full"
            until = time.monotonic() + DEADLINE_S
            while True:
                try:
                    await orders.publish({"n": 2})
                except streams.RefusedError:
                    assert time.monotonic() < until
                    await asyncio.sleep(0.05)
                else:
                    break
        await broker.close()

    asyncio.run(main())
