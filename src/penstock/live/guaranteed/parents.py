"""Keeps a link to each parent of a broker: opens it, and opens it again when it is lost."""

from __future__ import annotations

import asyncio
import logging
from secrets import randbits
from socket import gaierror
from typing import Final

from penstock.kernel.errors import PeerError, RefusedError, UnreachableError, VersionError
from penstock.live.guaranteed.addresses import reachable
from penstock.live.guaranteed.links import Links
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import FrameConnection
from penstock.live.net.link import Link
from penstock.wire.frames.guaranteed.client import Refused

_log: Final = logging.getLogger("penstock.streams")
_RETRY_S: Final = 0.5


class ParentLink:
    """The link to one parent, for as long as `keep` runs."""

    def __init__(self, parent: HostPort, links: Links, *, timeout_s: float) -> None:
        self._parent: Final = parent
        self._links: Final = links
        self._timeout_s: Final = timeout_s
        self._said = ""

    async def keep(self) -> None:
        """Opens the link whenever there is none; says once what is wrong."""
        while True:
            try:
                link, data = await self._open()
            except VersionError as error:
                self._say(f"speaks another version: {error}: run the same release here and there")
            except RefusedError as error:
                self._say(f"refused: {error}")
            except PeerError as error:
                self._say(f"is no broker of streams: {error}: check --parent")
            except gaierror:
                self._say("cannot be resolved: check the host name")
            except OSError:
                # Also when nothing is answered in time: a TimeoutError is one.
                self._say("does not answer: is a broker running there?")
            else:
                self._said = ""
                _log.info("linked to parent %s at %s", link.broker, self._parent)
                await self._links.add_parent(link, data)
                _log.warning("parent %s at %s is gone: trying again", link.broker, self._parent)
            await asyncio.sleep(_RETRY_S)

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            _log.warning("parent %s %s (trying again)", self._parent, text)

    async def _open(self) -> tuple[Link, FrameConnection]:
        """Both connections; HELLO was answered on the first."""
        token = randbits(64) or 1
        opened: list[FrameConnection] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                control = await self._connect(opened)
                answer = await self._links.greet(control, token)
                if isinstance(answer, Refused):
                    raise RefusedError(answer.text, answer.reason)
                if answer.token != token:
                    raise PeerError("it answers HELLO with another token")
                data = await self._connect(opened)
        except BaseException:
            for connection in opened:
                connection.close(UnreachableError("the link was not opened"))
            raise
        link = Link(
            token,
            control,
            broker=answer.broker,
            life=answer.life,
            reached_at=str(reachable(self._parent)),
        )
        return link, data

    async def _connect(self, opened: list[FrameConnection]) -> FrameConnection:
        _, connection = await asyncio.get_running_loop().create_connection(
            self._links.opened, self._parent.host, self._parent.port
        )
        opened.append(connection)
        return connection
