"""Publications on their way: what a program awaits, and the credit that it waits for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable
from time import time_ns
from typing import Any, Final

from penstock.api.confirmation import Confirmation
from penstock.api.errors import NotConfirmedError
from penstock.api.position import Position
from penstock.wire.frames.guaranteed.publication import Stored, StoredRun


class Pending:
    """A publication on its way; `await` gives its `Confirmation`, as often as it is awaited."""

    __slots__ = ("_confirmed_ns", "_outcome", "_waiters", "publication", "stream")

    def __init__(self, stream: str, publication: int) -> None:
        self.stream: Final = stream
        self.publication: Final = publication
        self._outcome: Stored | Exception | None = None
        self._confirmed_ns = 0
        # Most are confirmed before anybody looks: a future is made only for who waits.
        self._waiters: list[asyncio.Future[None]] | None = None

    @property
    def is_done(self) -> bool:
        """Whether it is confirmed or has failed."""
        return self._outcome is not None

    def __await__(self) -> Generator[Any, Any, Confirmation]:
        while self._outcome is None:
            yield from self._future()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        pubend, tick, is_duplicate = self._outcome
        return Confirmation(
            position=Position(pubend, tick) if tick else None,
            is_duplicate=is_duplicate,
            confirmed_ns=self._confirmed_ns,
        )

    async def wait(self) -> None:
        """Waits for the end, whatever it is."""
        while self._outcome is None:
            await self._future()

    def _future(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(future)
        return future

    def settle(self, outcome: Stored | Exception, now_ns: int) -> None:
        """It has come to an end; only the first counts."""
        if self._outcome is not None:
            return
        self._outcome, self._confirmed_ns = outcome, now_ns
        if self._waiters is not None:
            for future in self._waiters:
                if not future.done():
                    future.set_result(None)
            self._waiters = None


class PendingTable:
    """All publications of a node that are not on disk yet, and who waits to publish more.

    `room` says how many more the broker has credit for.
    """

    def __init__(self, room: Callable[[], int]) -> None:
        self.published = 0
        self.confirmed = 0
        self.refused = 0
        self._room: Final = room
        self._open: Final[dict[int, Pending]] = {}
        # First come, first served; those that were woken have yet to publish.
        self._waiting: Final[deque[asyncio.Future[None]]] = deque()
        self._woken = 0
        self._all_done: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def waiting(self) -> int:
        """How many wait for credit."""
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether one may publish at once."""
        return not self._waiting and self._room() > self._woken

    async def wait_room(self) -> None:
        """Waits for credit, in turn; whoever returns from here publishes at once."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                # Its turn had come: it is another's now.
                self._woken -= 1
                self.wake()
            elif future in self._waiting:
                # Else `wake` has passed it over, in the same turn of the loop.
                self._waiting.remove(future)
            raise
        self._woken -= 1

    def wake(self) -> None:
        """There may be room again: lets as many go on."""
        while self._waiting and self._room() > self._woken:
            future = self._waiting.popleft()
            if not future.done():
                self._woken += 1
                future.set_result(None)

    def wake_all(self) -> None:
        """There is nothing to wait for any more: who waits finds out why."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                self._woken += 1
                future.set_result(None)

    def find(self, publication: int) -> Pending | None:
        """The one with this number, while it is on its way."""
        return self._open.get(publication)

    def add(self, stream: str, publication: int) -> Pending:
        """One more."""
        self.published += 1
        pending = self._open[publication] = Pending(stream, publication)
        return pending

    def receipt(self, runs: Iterable[StoredRun]) -> None:
        """The broker has these, and not yet on disk: enough for those that asked for it."""
        self._settle(runs, self._open.get)

    def confirm(self, runs: Iterable[StoredRun]) -> None:
        """These are on disk."""
        self.confirmed += self._settle(runs, lambda id_: self._open.pop(id_, None))
        self._settled()

    def _settle(self, runs: Iterable[StoredRun], find: Callable[[int], Pending | None]) -> int:
        now_ns, count = time_ns(), 0
        for run in runs:
            pubend, is_duplicate = run.pubend, run.is_duplicate
            for id_, tick in zip(run.ids, run.ticks, strict=True):
                pending = find(id_)
                if pending is not None:
                    count += 1
                    pending.settle(Stored(pubend, tick, is_duplicate), now_ns)
        return count

    def refuse(self, publication: int, error: Exception) -> None:
        """The broker has said no."""
        pending = self._open.pop(publication, None)
        if pending is not None:
            self.refused += 1
            pending.settle(error, time_ns())
        self._settled()

    def end(self, why: str) -> None:
        """Nothing is confirmed any more."""
        for pending in list(self._open.values()):
            pending.settle(NotConfirmedError(pending.publication, why), time_ns())
        self._open.clear()
        self._settled()
        self.wake_all()

    async def wait_all(self) -> None:
        """Waits until nothing is on its way."""
        while self._open:
            if self._all_done is None:
                self._all_done = asyncio.get_running_loop().create_future()
            # Others may wait for the same.
            await asyncio.shield(self._all_done)

    def _settled(self) -> None:
        if self._waiting:
            self.wake()
        if self._all_done is not None and not self._open:
            self._all_done.set_result(None)
            self._all_done = None
