"""An opening is opened once, by a block or by hand, and the block says how it ended."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from penstock.api.opening import Opening
from penstock.kernel.errors import UsageError


class Door:
    def __init__(self) -> None:
        self.closed: list[BaseException | None] = []

    async def open(self) -> Door:
        await asyncio.sleep(0)
        return self

    async def close(self, opened: Door, error: BaseException | None) -> None:
        assert opened is self
        self.closed.append(error)

    def opening(self) -> Opening[Door]:
        return Opening("connect()", self.open, self.close)


def test_a_block_closes_what_it_opened() -> None:
    async def work() -> None:
        door = Door()
        async with door.opening() as opened:
            assert opened is door
            assert not door.closed
        assert door.closed == [None]

    asyncio.run(work())


def test_await_leaves_it_open() -> None:
    async def work() -> None:
        door = Door()
        assert await door.opening() is door
        assert await asyncio.create_task(_awaited(door.opening())) is door
        assert door.closed == []

    asyncio.run(work())


@pytest.mark.parametrize("error", [KeyError("x"), asyncio.CancelledError()])
def test_closing_is_told_what_ended_the_block(error: BaseException) -> None:
    async def work() -> None:
        door = Door()
        with pytest.raises(type(error)):
            async with door.opening():
                raise error
        assert door.closed == [error]

    asyncio.run(work())


def test_what_could_not_be_opened_is_not_closed() -> None:
    async def fail() -> Door:
        raise ConnectionError("nobody is there")

    async def work() -> None:
        door = Door()
        with pytest.raises(ConnectionError, match="nobody is there"):
            async with Opening("connect()", fail, door.close):
                pass
        assert door.closed == []

    asyncio.run(work())


def test_it_opens_once() -> None:
    async def work() -> None:
        opening = Door().opening()
        await opening
        with pytest.raises(UsageError, match=r"this connect\(\) was opened already: call connect"):
            await opening
        with pytest.raises(UsageError, match="was opened already"):
            async with opening:
                pass

    asyncio.run(work())


def test_one_that_was_forgotten_is_told() -> None:
    complaint = r"^connect\(\) was never opened: write 'async with' or 'await' before it$"
    with pytest.warns(RuntimeWarning, match=complaint):
        _forget(Door().opening())


def _forget(opening: Opening[Door]) -> None:
    del opening
    gc.collect()


async def _awaited(opening: Opening[Door]) -> Any:
    return await opening
