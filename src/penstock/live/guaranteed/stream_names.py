"""Which stream a message is of: brokers name pubends, programs know streams by name."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.api.retention import Retention
from penstock.guaranteed.status import StreamStatus
from penstock.live.guaranteed.answers import retention_of
from penstock.live.guaranteed.client_link import ClientLink


class _Page(msgspec.Struct):
    streams: list[StreamStatus]
    more: bool


async def stream_statuses(link: ClientLink) -> list[StreamStatus]:
    """All streams that the broker knows, page by page."""
    found: list[StreamStatus] = []
    more = True
    while more:
        after = found[-1].name if found else ""
        page = msgspec.json.decode(await link.request("list", {"after": after}), type=_Page)
        found += page.streams
        more = page.more and bool(page.streams)
    return found


class StreamNames:
    """The streams of one subscription."""

    def __init__(self, link: ClientLink, streams: tuple[str, ...]) -> None:
        self._link: Final = link
        self._streams: Final = streams
        # Of one stream all pubends are known; of several the broker has to say.
        self._only: Final = streams[0] if len(streams) == 1 else None
        self._by_pubend: Final[dict[int, str]] = {}

    def find(self, pubend: int) -> str | None:
        """The stream that a pubend is of; None if the broker has to be asked."""
        return self._only if self._only is not None else self._by_pubend.get(pubend)

    async def learn(self, pubend: int) -> None:
        """Asks the broker; afterwards `find` knows the pubend."""
        for status in await stream_statuses(self._link):
            if status.name in self._streams:
                for id_ in status.pubends:
                    self._by_pubend[int(id_, 16)] = status.name
        # A stream that was deleted a moment ago has no name any more.
        self._by_pubend.setdefault(pubend, "")

    async def retention(self, stream: str) -> Retention | None:
        """How much a stream may keep, where the broker knows."""
        for status in await stream_statuses(self._link):
            if status.name == stream and status.retention is not None:
                return retention_of(status.retention)
        return None
