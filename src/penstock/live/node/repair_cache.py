"""A cache that repairs other subscribers' losses, as an application sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.errors import UsageError
from penstock.live.node.subscription import NodePump


class Volunteer:
    """Created by `Node.volunteer`; active from `async with` to its end."""

    def __init__(
        self, predicate: Predicate, *, pump: NodePump, ready: Callable[[], Awaitable[None]]
    ) -> None:
        self._predicate: Final = predicate
        self._pump: Final = pump
        self._ready: Final = ready
        self._is_entered = False
        self._cache_id: int | None = None

    @property
    def counters(self) -> Mapping[str, int]:
        """The messages cached now, their publishers, and the repairs sent.

        All caches and subscriptions of a node share one store, so these numbers are the node's.
        """
        endpoint = self._pump.machine
        assert endpoint.recovery is not None, "a node without recovery makes no offers"
        caches = endpoint.recovery.cache
        return {
            "kept": caches.messages,
            "kept_bytes": caches.size_bytes,
            "publishers": caches.publishers,
            "answered": endpoint.counters["answered"],
        }

    async def __aenter__(self) -> Volunteer:
        if self._is_entered:
            raise UsageError("an offer begins once: volunteer again")
        self._is_entered = True
        await self._ready()
        self._cache_id = self._pump.call(
            lambda endpoint, now: endpoint.open_cache(self._predicate, now=now)
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    async def wait(self) -> None:
        """Waits until the node is closed; raises the error that closed it."""
        await self._pump.wait()

    def end(self) -> None:
        """Closes the cache; ending twice is no error."""
        cache_id, self._cache_id = self._cache_id, None
        if cache_id is not None and not self._pump.is_closed:
            self._pump.call(lambda endpoint, now: endpoint.close_cache(cache_id, now=now))
