"""A bounded feed of facts for an application that may be slow, or may not look at all.

The two ends are two classes: `live` holds a `FeedSource` and puts, the application gets its `Feed`
and reads. Nothing is collected before the first access; beyond the bound the oldest item is dropped
and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from penstock.api.errors import ClosedError
from penstock.api.units import Duration, count, duration_ns

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class Feed(AsyncIterator[T]):
    """What is told as it happens: iterate over it, or take what is there with `receive`.

    After its end it still gives what is queued; then iteration stops, or raises what it ended with.
    """

    def __init__(self, items_max: int) -> None:
        self._items: Final[deque[T]] = deque(maxlen=count("items_max", items_max, low=1))
        self._overflow = 0
        self._is_ended = False
        self._error: BaseException | None = None
        # Made when somebody first waits: importing asyncio imports sockets.
        self._changed: asyncio.Event | None = None

    @property
    def overflow(self) -> int:
        """How many items were dropped because nobody took them in time."""
        return self._overflow

    def __len__(self) -> int:
        return len(self._items)

    def __aiter__(self) -> Feed[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                raise StopAsyncIteration
            await self._change()
        return self._items.popleft()

    async def receive(self, limit: int = 100, *, wait: Duration = 0) -> list[T]:
        """What is there, at most `limit` items; waits so long for the first, and may be empty.

        A feed that ended with an error raises it when it is empty. To wait at one that ended
        without is a `ClosedError`: nothing will ever come.
        """
        count("limit", limit, low=1)
        wait_ns = duration_ns("wait", wait)
        if not self._items and wait_ns:
            await self._wait(wait_ns)
        if not self._items and self._error is not None:
            raise self._error
        # Nothing is awaited from here on: whoever is cancelled has taken nothing.
        return [self._items.popleft() for _ in range(min(limit, len(self._items)))]

    async def _wait(self, wait_ns: int) -> None:
        """Waits for the first item, for an error, or so long."""
        import asyncio

        try:
            async with asyncio.timeout(wait_ns / 1e9):
                while not self._items and not self._is_ended:
                    await self._change()
        except TimeoutError:
            return
        if not self._items and self._error is None:
            raise ClosedError("this feed has ended: nothing more will come, leave the wait out")

    async def _change(self) -> None:
        import asyncio

        if self._changed is None:
            self._changed = asyncio.Event()
        self._changed.clear()
        await self._changed.wait()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed.set()


class FeedSource(Generic[T]):
    """The end that puts; its owner offers `feed` as a property."""

    def __init__(self, items_max: int) -> None:
        self._feed: Final[Feed[T]] = Feed(items_max)
        self._is_collecting = False

    @property
    def feed(self) -> Feed[T]:
        """The end that reads; collects from the first access on."""
        self._is_collecting = True
        return self._feed

    @property
    def is_collecting(self) -> bool:
        """Whether anybody has asked for the feed: else there is no need to make items for it."""
        return self._is_collecting

    def put(self, item: T) -> None:
        """Adds an item, at the cost of the oldest where there is no room."""
        feed = self._feed
        if not self._is_collecting or feed._is_ended:
            return
        if len(feed._items) == feed._items.maxlen:
            feed._overflow += 1
        feed._items.append(item)
        feed._tell()

    def end(self, error: BaseException | None = None) -> None:
        """Ends the feed; with an error, it is raised behind the queued items. Twice is no error."""
        feed = self._feed
        if not feed._is_ended:
            feed._is_ended, feed._error = True, error
            feed._tell()
