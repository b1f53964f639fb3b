"""What `connect` and `subscribe` return: something to be opened, by a block or by hand."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from penstock.kernel.errors import UsageError

T = TypeVar("T")


class Opening(Generic[T]):
    """Opens once, by `async with` or by `await`.

        async with connect() as node: ...          # closes at the end of the block
        node = await connect(); ...; await node.aclose()

    `name` is the call that made it, for errors. `close` is told what ended the block: None, when it
    ended normally and there is time to drain, or the exception, cancellation included.
    """

    _is_used = False

    def __init__(
        self,
        name: str,
        open: Callable[[], Awaitable[T]],
        close: Callable[[T, BaseException | None], Awaitable[None]],
    ) -> None:
        self._name: Final = name
        self._open: Final = open
        self._close: Final = close
        self._opened: list[T] = []

    def __await__(self) -> Generator[Any, Any, T]:
        self._use()
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._use()
        opened = await self._open()
        self._opened.append(opened)
        return opened

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self._close(self._opened.pop(), error)

    def __del__(self) -> None:
        # Else a forgotten `await` would subscribe to nothing, in silence.
        if not self._is_used and hasattr(self, "_close"):
            warnings.warn(
                f"{self._name} was never opened: write 'async with' or 'await' before it",
                RuntimeWarning,
                stacklevel=2,
                source=self,
            )

    def _use(self) -> None:
        if self._is_used:
            raise UsageError(f"this {self._name} was opened already: call {self._name} again")
        self._is_used = True
