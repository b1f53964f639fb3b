"""What a subscription has received and its program has not taken yet.

As much as the program takes is granted anew, in steps of half the window.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock.api.errors import ClosedError
from penstock.guaranteed.client import Missed, Received, SubscriptionOptions
from penstock.kernel.instant import SECOND, Duration


class Inbox:
    """Messages and gaps in order; `grant` is told how many messages and bytes were taken."""

    def __init__(self, options: SubscriptionOptions, *, grant: Callable[[int, int], None]) -> None:
        self.items: Final[deque[Received | Missed]] = deque()
        self.is_ended = False
        self._error: Exception | None = None
        self._grant: Final = grant
        self._waiters: Final[list[asyncio.Future[None]]] = []
        self._taken_messages = 0
        self._taken_bytes = 0
        self._half_messages: Final = (options.window_messages + 1) // 2
        self._half_bytes: Final = (options.window_bytes + 1) // 2

    def put(self, items: Iterable[Received | Missed]) -> None:
        """Adds what has come."""
        self.items.extend(items)
        if self._waiters:
            self._wake()

    def end(self, error: Exception | None) -> None:
        """Nothing more will come; what is there can still be taken, then the error is raised."""
        self.is_ended, self._error = True, error
        self._wake()

    async def wait(self) -> bool:
        """Waits for an item; False if none will come. Raises what ended it."""
        while not self.items:
            if self.is_ended:
                self._raise_error()
                return False
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future in self._waiters:
                    self._waiters.remove(future)
                raise
        return True

    async def wait_for(self, wait_ns: Duration) -> bool:
        """Waits so long for an item; to wait at the end is an error, since nothing will come."""
        if not wait_ns:
            if not self.items:
                self._raise_error()
            return bool(self.items)
        try:
            async with asyncio.timeout(wait_ns / SECOND):
                has_item = await self.wait()
        except TimeoutError:
            return False
        if not has_item:
            raise ClosedError("this subscription has ended: nothing more will come")
        return True

    def take_message(self) -> Received:
        """Takes the first item, which is a message."""
        item = self.items.popleft()
        assert type(item) is Received
        self._taken_messages += 1
        self._taken_bytes += len(item.body)
        if self._taken_messages >= self._half_messages or self._taken_bytes >= self._half_bytes:
            self._give_credit()
        return item

    def take_gap(self, gap: Missed) -> bool:
        """Takes a gap, if it is still the first item."""
        if self.items and self.items[0] is gap:
            self.items.popleft()
            return True
        return False

    def clear(self) -> None:
        """Forgets everything: the subscription begins anew, with a whole window."""
        self.items.clear()
        self._taken_messages = self._taken_bytes = 0

    def drop_behind(self, positions: Mapping[int, int]) -> None:
        """Forgets what lies behind these positions, by pubend: it comes again."""
        items = list(self.items)
        self.items.clear()
        for item in items:
            tick = item.stop - 1 if isinstance(item, Missed) else item.tick
            if tick <= positions.get(item.pubend, tick):
                self.items.append(item)
            elif type(item) is Received:
                self._taken_messages += 1
                self._taken_bytes += len(item.body)
        if self._taken_messages >= self._half_messages or self._taken_bytes >= self._half_bytes:
            self._give_credit()

    def _give_credit(self) -> None:
        messages, size_bytes = self._taken_messages, self._taken_bytes
        self._taken_messages = self._taken_bytes = 0
        if not self.is_ended:
            self._grant(messages, size_bytes)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        waiters = self._waiters.copy()
        self._waiters.clear()
        for future in waiters:
            if not future.done():
                future.set_result(None)
