"""Opens a subscription in time, and says what is waited for where it takes longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from penstock.cli.stream.session import ask
from penstock.kernel.errors import PenstockError, UnreachableError

if TYPE_CHECKING:
    from penstock.api.opening import Opening
    from penstock.live.guaranteed.node import StreamNode
    from penstock.live.guaranteed.subscription import StreamSubscription

# So long nothing is said, and then whenever something else is waited for.
_LOOK_S: Final = 1.0
# To learn what was waited for, when there is no more time.
_LAST_LOOK: Final = "1s"


class _Why(NamedTuple):
    """What keeps a broker from opening a subscription, and what to do."""

    text: str
    to_do: str


@asynccontextmanager
async def opened_in_time(
    opening: Opening[StreamSubscription], node: StreamNode, stream: str, *, timeout: str
) -> AsyncIterator[StreamSubscription]:
    """The block of a subscription; raises `UnreachableError` if it is not open in time."""
    from penstock.api.units import duration_ns

    timeout_s = duration_ns("--timeout", timeout) / 1e9
    async with AsyncExitStack() as stack:
        telling = asyncio.create_task(_tell(node, stream, timeout))
        try:
            async with asyncio.timeout(timeout_s):
                inbox = await stack.enter_async_context(opening)
        except TimeoutError:
            why = await _find_why(node, stream, timeout=_LAST_LOOK)
            raise UnreachableError(f"{why.text}: {why.to_do}") from None
        finally:
            telling.cancel()
        yield inbox


async def _tell(node: StreamNode, stream: str, timeout: str) -> None:
    said = ""
    while True:
        await asyncio.sleep(_LOOK_S)
        try:
            why = await _find_why(node, stream, timeout=timeout)
        except PenstockError:
            # The command says so itself.
            return
        if why.text != said:
            said = why.text
            typer.echo(f"{said}: waiting up to {timeout}", err=True)


async def _find_why(node: StreamNode, stream: str, *, timeout: str) -> _Why:
    found = await ask(node, "status", {}, timeout=timeout)
    away, at = found["parents_away"], node.address
    parents = away + len(found["parents"])
    if not parents:
        return _Why(f"{at} does not open {stream!r}", "look at its log, or raise --timeout")
    if away == parents:
        text = f"{at} has no parent linked to take {stream!r} from"
        return _Why(text, "start one, or raise --timeout")
    if away:
        text = f"{at} lacks {away} of {parents} parents to take {stream!r} from"
        return _Why(text, "start them, or raise --timeout")
    text = f"the broker storing {stream!r} does not answer {at}"
    return _Why(text, "start it, or raise --timeout")
