"""Feeds: bounded, lazy, and nothing is lost to whoever is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from penstock.api.errors import ClosedError
from penstock.api.feed import Feed, FeedSource
from penstock.kernel.errors import UsageError


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_it_collects_from_the_first_access_on() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(4)
        source.put(1)
        before = source.is_collecting
        feed = source.feed
        assert (before, source.is_collecting) == (False, True)
        source.put(2)
        assert source.feed is feed
        assert await feed.receive() == [2]
        assert feed.overflow == 0

    run(work())


def test_the_oldest_make_room_and_are_counted() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(3)
        feed = source.feed
        for n in range(5):
            source.put(n)
        assert (len(feed), feed.overflow) == (3, 2)
        assert await feed.receive(2) == [2, 3]
        assert await feed.receive(2) == [4]
        assert await feed.receive() == []

    run(work())


def test_iteration_gives_what_is_queued_and_stops_at_the_end() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        feed = source.feed
        source.put(1)
        source.put(2)
        source.end()
        source.end(OSError("twice is no error"))
        source.put(3)
        assert [item async for item in feed] == [1, 2]
        assert [item async for item in feed] == []

    run(work())


def test_what_it_ended_with_is_raised_behind_what_is_queued() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        feed = source.feed
        source.put(1)
        source.end(OSError("the disk is gone"))
        assert await feed.receive(wait=1) == [1]
        for read in (feed.receive, lambda: feed.receive(wait="1s"), feed.__anext__):
            with pytest.raises(OSError, match="the disk is gone"):
                await read()

    run(work())


def test_nobody_waits_for_what_has_ended() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        feed = source.feed
        waiting = asyncio.create_task(feed.receive(wait="1h"))
        iterating = asyncio.create_task(_list(feed))
        await asyncio.sleep(0)
        source.end()
        with pytest.raises(ClosedError, match="this feed has ended: nothing more will come"):
            await waiting
        assert await iterating == []
        assert await feed.receive() == []

    run(work())


def test_a_wait_ends_with_the_first_item_or_empty() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        feed = source.feed
        waiting = asyncio.create_task(feed.receive(wait="1h"))
        await asyncio.sleep(0)
        source.put(1)
        source.put(2)
        assert await waiting == [1, 2]
        assert await feed.receive(wait="1ms") == []

    run(work())


def test_cancelling_loses_nothing() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        feed = source.feed
        for read in (feed.__anext__, lambda: feed.receive(wait="1h")):
            waiting: asyncio.Task[Any] = asyncio.create_task(_awaited(read()))
            await asyncio.sleep(0)
            source.put(1)
            # It is awake, and has not run yet.
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await feed.receive() == [1]

    run(work())


def test_two_readers_share_what_comes() -> None:
    async def work() -> None:
        source: FeedSource[int] = FeedSource(9)
        readers = [asyncio.create_task(_list(source.feed)) for _ in range(2)]
        for n in range(4):
            await asyncio.sleep(0)
            source.put(n)
        await asyncio.sleep(0)
        source.end()
        one, other = await asyncio.gather(*readers)
        assert sorted(one + other) == [0, 1, 2, 3]

    run(work())


@pytest.mark.parametrize(("limit", "wait"), [(0, 0), (True, 0), (1, "soon"), (1, -1)])
def test_limits_and_waits_are_checked(limit: int, wait: Any) -> None:
    with pytest.raises(UsageError, match=r"^(limit|wait) is "):
        run(_nothing(Feed[int](1).receive(limit, wait=wait)))
    with pytest.raises(UsageError, match="items_max is 1 or more"):
        Feed(0)


async def _list(feed: Feed[int]) -> list[int]:
    return [item async for item in feed]


async def _awaited(read: Any) -> Any:
    return await read


async def _nothing(read: Coroutine[Any, Any, object]) -> None:
    await read
