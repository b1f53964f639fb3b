"""What is acknowledged, what comes again, and what a program is told of it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from penstock import streams
from tests.live.guaranteed.programs import messages_of, numbers_of, published, run


def test_leaving_a_block_acknowledges_the_batch_in_hand(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert len(await messages_of(inbox, 2)) == 2
        assert inbox.statistics().acknowledged == 2
        async with orders.subscribe(durable="d") as inbox:
            assert await numbers_of(inbox, 1) == [3]

    run(tmp_path, program)


def test_an_error_in_a_block_counts_as_an_attempt(tmp_path: Path) -> None:
    async def fail(orders: streams.Stream) -> int:
        async with orders.subscribe(durable="d", start="first", attempts=3) as inbox:
            message = await anext(inbox)
            assert message["n"] == 1
            raise ZeroDivisionError(message.attempt)

    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2)
        for attempt in (1, 2, 3):
            with pytest.raises(ZeroDivisionError, match=str(attempt)):
                await fail(orders)
        # A program that dies again and again is stopped, with the message that kills it.
        with pytest.raises(streams.PoisonError, match="failed 3 times: pass checkpoint") as caught:
            await fail(orders)
        assert caught.value.message["n"] == 1
        with pytest.raises(streams.ClosedError, match="subscribe again"):
            await caught.value.message.ack()
        async with orders.subscribe(
            durable="d", checkpoint=caught.value.message.checkpoint
        ) as inbox:
            assert await numbers_of(inbox, 1) == [2]

    run(tmp_path, program)


def test_a_cancelled_reader_with_nothing_in_hand_counts_no_attempt(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1)
        is_waiting = asyncio.Event()

        async def read() -> None:
            async with orders.subscribe(durable="d", start="first") as inbox:
                await anext(inbox)
                asyncio.get_running_loop().call_soon(is_waiting.set)
                await anext(inbox)

        reader = asyncio.create_task(read())
        await is_waiting.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await orders.publish({"n": 2})
        async with orders.subscribe(durable="d") as inbox:
            message = await anext(inbox)
            assert (message["n"], message.attempt) == (2, 1)

    run(tmp_path, program)


def test_what_failed_comes_again_with_all_behind_it_and_nothing_twice(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, *range(10))
        async with orders.subscribe(durable="d", start="first", attempts=9) as inbox:
            assert await numbers_of(inbox, 3) == [0, 1, 2]
            failed = await anext(inbox)
            await failed.fail("not now")
            again = await anext(inbox)
            assert (again["n"], again.attempt, again.checkpoint) == (3, 2, failed.checkpoint)
            assert await numbers_of(inbox, 6) == [4, 5, 6, 7, 8, 9]
            assert not await inbox.receive(10, wait="300ms")
            statistics = inbox.statistics()
            assert (statistics.delivered, statistics.acknowledged) == (11, 10)
            assert statistics.redelivered >= 1

    run(tmp_path, program)


def test_a_message_that_fails_too_often_ends_the_subscription(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1)
        async with orders.subscribe(durable="d", start="first", attempts=2) as inbox:
            await (await anext(inbox)).fail("first")
            await (await anext(inbox)).fail("second")
            with pytest.raises(streams.PoisonError, match=r"failed 2 times \(second\)") as caught:
                await anext(inbox)
            assert caught.value.reasons == ("first", "second")
            assert (caught.value.message["n"], caught.value.message.attempt) == (1, 2)
        (info,) = await node.list_durables()
        assert "handed out 2 times" in info.stopped

    run(tmp_path, program)


def test_parked_messages_can_be_retried_and_discarded(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(
            durable="d", start="first", attempts=2, poison="park", window=1
        ) as inbox:
            # The second may be on its way when the first one fails: then that counts for it too.
            while (message := await anext(inbox))["n"] < 3:
                await message.fail(f"no {message['n']}")
            third = message
            parked = [each async for each in node.parked("d")]
            assert [(each["n"], each.attempts, each.reason) for each in parked] == [
                (1, 2, "no 1"),
                (2, 2, "no 2"),
            ]
            await inbox.lag()
            assert inbox.statistics().parked == 2
            await node.parked("d").discard(parked[0])
            await node.parked("d").retry(parked[1])
            again = await anext(inbox)
            assert (again["n"], again.attempt) == (2, 3)
            # It stands behind what was read since, and is acknowledged by itself.
            assert again.checkpoint == third.checkpoint
            await again.ack()
            assert [each async for each in node.parked("d")] == []
            with pytest.raises(streams.RefusedError, match="no parked message"):
                await node.parked("d").discard(parked[0])

    run(tmp_path, program)


def test_a_seek_moves_whoever_reads(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, *range(5))
        async with orders.subscribe(durable="d", start="first", ack="manual") as inbox:
            messages = await messages_of(inbox, 3)
            assert [each["n"] for each in messages] == [0, 1, 2]
            await node.seek("d", "first")
            assert await numbers_of(inbox, 5) == [0, 1, 2, 3, 4]
            await node.seek("d", messages[1].position)
            again = await anext(inbox)
            assert again["n"] == 2
            # What was handed over before the cursor moved does not count any more, and is no error.
            await messages[2].ack()

    run(tmp_path, program)


def test_an_earlier_message_can_be_acknowledged_later(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(durable="d", start="first", ack="manual") as inbox:
            first, second, third = await messages_of(inbox, 3)
            await asyncio.gather(third.ack(), first.ack(), second.ack())
            assert inbox.statistics().acknowledged == 3
        assert (await node.list_durables())[0].lag.messages == 0

    run(tmp_path, program)


def test_resuming_tells_that_start_was_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1)
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert not inbox.resumed
        assert not caplog.records
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert inbox.resumed
        (record,) = caplog.records
        assert record.getMessage() == (
            "durable 'd' goes on where it was: start='first' was not used, seek() moves it"
        )

    with caplog.at_level(logging.INFO, logger="penstock.streams"):
        run(tmp_path, program)
