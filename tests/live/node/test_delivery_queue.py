"""The bounded queue between pump and application."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.node.delivery_queue import DeliveryQueue
from tests.live.loopback import run


async def rest(stream: DeliveryQueue[int]) -> list[int]:
    return [item async for item in stream]


def test_items_come_in_order_and_the_queue_still_after_the_end() -> None:
    async def program() -> list[int]:
        stream: DeliveryQueue[int] = DeliveryQueue(3)
        for item in range(3):
            assert stream.put(item)
        stream.close()
        return await rest(stream)

    assert run(program()) == [0, 1, 2]


def test_what_finds_the_queue_full_is_dropped_and_counted() -> None:
    async def program() -> tuple[list[int], int]:
        stream: DeliveryQueue[int] = DeliveryQueue(2)
        assert [stream.put(item) for item in range(5)] == [True, True, False, False, False]
        assert len(stream) == 2
        stream.close()
        return await rest(stream), stream.overflow

    assert run(program()) == ([0, 1], 3)


def test_who_waits_is_woken_by_an_item_and_by_the_end() -> None:
    async def program() -> list[int]:
        stream: DeliveryQueue[int] = DeliveryQueue(2)
        reader = asyncio.create_task(rest(stream))
        for item in range(4):
            await asyncio.sleep(0)
            stream.put(item)
        await asyncio.sleep(0)
        stream.close()
        return await reader

    assert run(program()) == [0, 1, 2, 3]


def test_several_readers_share_the_items() -> None:
    async def program() -> list[int]:
        stream: DeliveryQueue[int] = DeliveryQueue(9)
        readers = [asyncio.create_task(rest(stream)) for _ in range(3)]
        await asyncio.sleep(0)
        for item in range(9):
            stream.put(item)
        stream.close()
        return sorted(chain(*await asyncio.gather(*readers)))

    assert run(program()) == list(range(9))


def test_an_error_comes_after_what_is_queued() -> None:
    async def program() -> None:
        stream: DeliveryQueue[int] = DeliveryQueue(2)
        stream.put(1)
        stream.close(KeyError("x"))
        stream.close()
        assert await anext(stream) == 1
        with pytest.raises(KeyError):
            await anext(stream)

    run(program())


def test_nothing_comes_after_the_end() -> None:
    async def program() -> tuple[list[int], int]:
        stream: DeliveryQueue[int] = DeliveryQueue(2)
        stream.close()
        assert not stream.put(1)
        return await rest(stream), stream.overflow

    assert run(program()) == ([], 0)


def test_a_queue_needs_room() -> None:
    with pytest.raises(UsageError, match="1 item or more"):
        DeliveryQueue(0)
