"""A bounded queue between the pump, which cannot wait, and an application, which may be slow.

Items that do not fit are dropped and counted as `overflow`, so memory does not grow with a slow
application.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Generic, TypeVar

from penstock.kernel.errors import UsageError

Item = TypeVar("Item")


class DeliveryQueue(Generic[Item]):
    """An asynchronous iterator; after `close` it still returns the queued items, then ends."""

    def __init__(self, items_max: int) -> None:
        if items_max < 1:
            raise UsageError(f"a queue holds 1 item or more, not {items_max}")
        self.overflow = 0
        self._items_max: Final = items_max
        self._items: Final[deque[Item]] = deque()
        self.is_closed = False
        self._error: BaseException | None = None
        self._changed: Final = asyncio.Event()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item) -> bool:
        """Appends an item; returns whether there was room for it."""
        if self.is_closed:
            return False
        if len(self._items) >= self._items_max:
            self.overflow += 1
            return False
        self._items.append(item)
        self._changed.set()
        return True

    def close(self, error: BaseException | None = None) -> None:
        """Ends the queue; with an error, the iterator raises it after the queued items."""
        if not self.is_closed:
            self.is_closed, self._error = True, error
            self._changed.set()

    def __aiter__(self) -> DeliveryQueue[Item]:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._error is not None:
                raise self._error
            if self.is_closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._items.popleft()
