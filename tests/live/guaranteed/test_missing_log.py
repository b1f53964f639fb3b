"""A broker whose log was removed says so, and readers are told: a loss is never silence."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock import streams
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort

ANYWHERE = HostPort("127.0.0.1", 0)


def test_a_log_without_its_only_segment_is_a_gap_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        async with streams.connect(broker.address) as node:
            orders = node.stream("orders", create=True)
            for number in range(3):
                await orders.publish({"n": number})
        await broker.close()
        (segment,) = tmp_path.glob("logs/*/*.log")
        segment.unlink()
        broker = StreamBroker(tmp_path)
        await broker.start(ANYWHERE)
        assert "stream 'orders' is damaged, at most 3 messages are lost: " in caplog.text
        async with streams.connect(broker.address) as node:
            orders = node.stream("orders")
            await orders.publish({"n": 3})
            async with orders.subscribe(start="first") as inbox:
                with pytest.raises(streams.GapError) as caught:
                    await anext(inbox)
        assert (caught.value.loss.reason, caught.value.loss.count) == ("damaged", 3)
        await broker.close()

    asyncio.run(asyncio.wait_for(main(), 30))
