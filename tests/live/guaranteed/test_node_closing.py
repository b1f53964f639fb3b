"""What closing, cancelling and a broker that goes away mean to a program."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

import pytest

from penstock import streams
from penstock.live.guaranteed.pending import PendingTable
from tests.live.guaranteed.programs import broker_at, numbers_of, published, run


def test_what_is_queued_can_be_read_after_the_end(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert await numbers_of(inbox, 1) == [1]
            while inbox.statistics().queued < 2:
                await asyncio.sleep(0)
        assert [message["n"] async for message in inbox] == [2, 3]
        assert await inbox.receive() == []
        with pytest.raises(streams.ClosedError, match="nothing more will come"):
            await inbox.receive(wait="1s")
        # Only what was acknowledged is past.
        async with orders.subscribe(durable="d") as inbox:
            assert await numbers_of(inbox, 2) == [2, 3]

    run(tmp_path, program)


def test_closing_twice_is_no_error_and_a_closed_node_says_so(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1)
        inbox = await orders.subscribe(start="first")
        message = await anext(inbox)
        for _ in range(2):
            await inbox.aclose()
        with pytest.raises(streams.ClosedError, match="this subscription has ended"):
            await message.ack()
        for _ in range(2):
            await node.aclose()
        for call in (
            orders.publish({"n": 1}),
            orders.submit({"n": 1}),
            node.list_streams(),
            node.wait_connected(),
        ):
            with pytest.raises(streams.ClosedError, match="this node is closed: connect again"):
                await call
        with pytest.raises(streams.ClosedError):
            await orders.subscribe()
        await node.wait_disconnected()

    run(tmp_path, program)


def test_the_end_of_a_node_ends_and_acknowledges_its_subscriptions(tmp_path: Path) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            async with streams.connect(broker.address) as node:
                orders = await published(node, 1, 2)
                inbox = await orders.subscribe(durable="d", start="first")
                assert await numbers_of(inbox, 1) == [1]
                waiting = asyncio.create_task(inbox.receive(wait="60s"))
                # It waits before the node ends.
                await asyncio.sleep(0)
            assert [each["n"] for each in await waiting] in ([2], [])
            async with streams.connect(broker.address) as node:
                (info,) = await node.list_durables()
                assert info.lag.messages in (0, 1)
                assert info.reader is None

    asyncio.run(asyncio.wait_for(main(), 20))


def test_what_is_not_confirmed_at_the_end_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            node = await streams.connect(broker.address)
            orders = await published(node, 1)
        await node.wait_disconnected()
        pending = await orders.submit({"n": 2})
        assert node.statistics().unconfirmed == 1
        with pytest.raises(
            streams.NotConfirmedError, match=r"no confirmation for 0\.01 s"
        ) as caught:
            await orders.publish({"n": 3}, timeout="10ms")
        assert caught.value.publication == pending.publication + 1
        assert await node.drain("10ms") == 2
        await node.aclose()
        with pytest.raises(streams.NotConfirmedError, match="the node was closed: repeat it with"):
            await pending

    with caplog.at_level(logging.WARNING, logger="penstock.link"):
        asyncio.run(asyncio.wait_for(main(), 20))
    assert "2 publications are not confirmed: they may or may not be stored" in caplog.messages


def test_a_message_without_credit_has_not_left(tmp_path: Path) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            node = await streams.connect(broker.address)
            orders = await published(node, 1)
        await node.wait_disconnected()
        for n in range(1_000):
            await orders.submit({"n": n})
        waiting = asyncio.create_task(orders.submit({"n": 1_000}))
        with pytest.raises(streams.UnreachableError, match="has not left: no credit"):
            await orders.publish({"n": 1_001}, timeout="10ms")
        assert node.statistics().waiting == 1
        await node.aclose()
        with pytest.raises(streams.ClosedError):
            await waiting

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_node_goes_on_when_its_broker_is_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            port = int(broker.address.rpartition(":")[2])
            node = await streams.connect(broker.address, name="writer")
            orders = await published(node, 1)
            inbox = await orders.subscribe(durable="d", start="first", ack="manual")
            first = await anext(inbox)
        await node.wait_disconnected()
        assert not node.is_connected
        late = await orders.submit({"n": 2})
        stored = asyncio.create_task(first.ack())
        async with broker_at(tmp_path, port):
            await node.wait_connected()
            assert (await late).position is not None
            await stored
            assert (await anext(inbox))["n"] == 2
            assert node.statistics().reconnects == 1
            await node.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_cancelling_loses_no_message(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 0)
        async with orders.subscribe(durable="d", start="first") as inbox:
            got = await numbers_of(inbox, 1)
            for n in range(1, 40):
                waiting = asyncio.create_task(inbox.receive(1, wait="5s"))
                publishing = asyncio.create_task(orders.publish({"n": n}))
                # At any moment: before the message comes, with it, and after it.
                for _ in range(n):
                    await asyncio.sleep(0)
                waiting.cancel()
                with suppress(asyncio.CancelledError):
                    got += [each["n"] for each in await waiting]
                await publishing
            while len(got) < 40:
                got += [each["n"] for each in await inbox.receive(100, wait="5s")]
        assert got == [*range(40)]

    run(tmp_path, program)


def test_a_cancelled_publication_leaves_room_for_others(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 0)
        # More than there is credit for, so that some wait in turn.
        tasks = [asyncio.create_task(orders.publish({"n": n})) for n in range(1, 3_000)]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() or task.result().position for task in tasks)
        assert await node.drain("10s") == 0
        statistics = node.statistics()
        assert (statistics.waiting, statistics.unconfirmed) == (0, 0)
        assert statistics.confirmed == statistics.published >= 2_000

    run(tmp_path, program)


def test_who_is_cancelled_while_credit_comes_is_just_cancelled(tmp_path: Path) -> None:
    """Cancelled in the same turn of the loop in which it would have been its turn."""

    async def main() -> None:
        room = 0
        table = PendingTable(lambda: room)
        tasks = [asyncio.create_task(table.wait_room()) for _ in range(4)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        room = 1
        table.wake()
        # Its turn had come: it is that of the next one.
        tasks[1].cancel()
        done, _ = await asyncio.wait(tasks[:3])
        assert done == {*tasks[:3]}
        assert [task.cancelled() for task in tasks[:3]] == [True, True, False]
        tasks[2].result()
        assert table.waiting == 1
        room = 2
        table.wake()
        await tasks[3]
        assert table.has_room

    asyncio.run(asyncio.wait_for(main(), 20))
