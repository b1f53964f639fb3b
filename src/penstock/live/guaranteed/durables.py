"""Durable names at the broker: to list, find, move and forget them, and their parked messages."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from penstock.api.durable_info import DurableInfo
from penstock.api.errors import RefusedError
from penstock.api.parked_message import ParkedMessage
from penstock.api.position import Position
from penstock.api.start import Start
from penstock.guaranteed.status import DurableStatus
from penstock.kernel.errors import UsageError
from penstock.live.guaranteed.answers import ParkedRow, durable_info, parked_message
from penstock.live.guaranteed.client_link import ClientLink
from penstock.live.guaranteed.refusal_errors import durable_error
from penstock.live.guaranteed.subscription_terms import wire_start
from penstock.wire.frames.guaranteed.base import check_name


class _DurablesPage(msgspec.Struct):
    durables: list[DurableStatus]
    more: bool


class _ParkedPage(msgspec.Struct):
    messages: list[ParkedRow]
    more: bool


def check_durable(durable: str) -> None:
    """Refuses what cannot be the name of one."""
    check_name("a durable name", durable)


async def ask_of_durable(
    link: ClientLink, verb: str, durable: str, arguments: Mapping[str, Any]
) -> bytes:
    """Asks something of one name; raises `DurableError` where it is unknown."""
    try:
        return await link.request(verb, arguments)
    except RefusedError as error:
        raise durable_error(error, durable) from None


async def list_durables(link: ClientLink) -> list[DurableInfo]:
    """All names of the broker, page by page."""
    found: list[DurableInfo] = []
    more = True
    while more:
        after = found[-1].name if found else ""
        answer = await link.request("durables", {"after": after})
        page = msgspec.json.decode(answer, type=_DurablesPage)
        found += map(durable_info, page.durables)
        more = page.more and bool(page.durables)
    return found


async def find_durable(link: ClientLink, durable: str) -> DurableInfo:
    """One name."""
    answer = await ask_of_durable(link, "durables", durable, {"only": durable})
    return durable_info(msgspec.json.decode(answer, type=_DurablesPage).durables[0])


async def seek(link: ClientLink, durable: str, start: Start) -> None:
    """Moves a cursor; whoever reads the name goes on there."""
    check_durable(durable)
    kind, value = wire_start(start)
    arguments = {"durable": durable, "start": kind.name.lower(), "value": value}
    if isinstance(start, Position):
        arguments["pubend"] = f"{start.pubend:016x}"
    await ask_of_durable(link, "seek", durable, arguments)


class Parked(AsyncIterator[ParkedMessage]):
    """Messages of one durable name that failed too often, as they were put aside, in order.

    To begin again, take a new one: `node.parked(durable)`.
    """

    def __init__(self, link: ClientLink, durable: str) -> None:
        self.durable: Final = durable
        self._link: Final = link
        self._page: Final[deque[ParkedMessage]] = deque()
        self._has_more = True
        # Those of pages so far that are still parked: what to leave out of the next one.
        self._skip: Final[dict[Position, None]] = {}

    def __aiter__(self) -> Parked:
        return self

    async def __anext__(self) -> ParkedMessage:
        while not self._page:
            if not self._has_more:
                raise StopAsyncIteration
            await self._read_page()
        return self._page.popleft()

    async def retry(self, parked: ParkedMessage) -> None:
        """Hands a message to the reader once more; acknowledged, it is gone from here."""
        await self._do("retry", parked)

    async def discard(self, parked: ParkedMessage) -> None:
        """Deletes a message for good."""
        await self._do("discard", parked)
        self._skip.pop(parked.position, None)

    async def _do(self, action: str, parked: ParkedMessage) -> None:
        if parked.durable != self.durable:
            raise UsageError(
                f"the message was parked for {parked.durable!r}, not {self.durable!r}:"
                f" take parked({parked.durable!r})"
            )
        position = parked.position
        arguments = {
            "durable": self.durable,
            "action": action,
            "pubend": f"{position.pubend:016x}",
            "tick": position.tick,
        }
        await self._link.request("parked", arguments)

    async def _read_page(self) -> None:
        arguments = {"durable": self.durable, "skip": len(self._skip)}
        answer = await ask_of_durable(self._link, "parked", self.durable, arguments)
        page = msgspec.json.decode(answer, type=_ParkedPage)
        self._has_more = page.more and bool(page.messages)
        for row in page.messages:
            message = parked_message(self.durable, row)
            if message.position not in self._skip:
                self._skip[message.position] = None
                self._page.append(message)
