"""The connections of a broker: clients with one, links to other brokers with two.

Whoever connects says by its first frame what it is. A child opens the control connection of a link
and sends HELLO with a token that it has drawn; when that is answered it opens the data connection
and sends HELLO with the same token. Every table here has a bound, and what says nothing is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from time import monotonic_ns
from typing import Final, Protocol

from penstock.guaranteed.settings import LinkSettings
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError, UnreachableError, VersionError
from penstock.kernel.instant import SECOND
from penstock.kernel.machine import Port
from penstock.live.error_text import in_words
from penstock.live.net.frame_connection import AnyFrame, FrameConnection
from penstock.live.net.link import Link
from penstock.wire.frames.guaranteed.channels import CHANNEL_OF
from penstock.wire.frames.guaranteed.client import (
    ClientPing,
    Connect,
    Refused,
    RefusedKind,
    refusal,
)
from penstock.wire.frames.guaranteed.hello import Hello, Role

_log: Final = logging.getLogger("penstock.streams")
# Connections that have not said yet what they are.
_NEW_MAX: Final = 256
# Links whose second connection is not there yet.
_HALF_OPEN_MAX: Final = 64
_REFUSED_MAX: Final = 256
_OF_BROKERS: Final = frozenset(CHANNEL_OF)
_ROLES: Final = Role.PUBLISH | Role.RELAY | Role.HOST


class PortKind(Enum):
    """Who is at the other end."""

    CLIENT = "client"
    CHILD = "child"
    PARENT = "parent"


class LinkEvents(Protocol):
    """What the broker is told, in the event loop."""

    def on_up(self, port: Port, kind: PortKind) -> None:
        """A client or another broker is there."""

    def on_frames(self, port: Port, frames: list[AnyFrame]) -> None:
        """What came in one read."""

    def on_room(self, port: Port, size_bytes: int) -> None:
        """So many more bytes may be sent."""

    def on_malformed(self, port: Port, error: PeerError) -> None:
        """A client has sent what cannot be decoded."""

    def on_down(self, port: Port, kind: PortKind) -> None:
        """It is gone, with all that was under way."""


class Links:
    """All connections of one broker; `outlets` are those that the machine may send to."""

    def __init__(self, name: str, life: int, *, settings: LinkSettings, events: LinkEvents) -> None:
        self.outlets: Final[dict[Port, FrameConnection | Link]] = {}
        self._name: Final = name
        self._life: Final = life
        self._settings: Final = settings
        self._events: Final = events
        self._opened = 0
        self._clients: Final[dict[FrameConnection, Port]] = {}
        # Both connections of a link lead to it.
        self._links: Final[dict[FrameConnection, Link]] = {}
        self._kinds: Final[dict[Port, PortKind]] = {}
        self._by_token: Final[dict[int, Link]] = {}
        # Since when connections have said nothing.
        self._new: Final[dict[FrameConnection, int]] = {}
        # Who waits for the first frame of a connection that this broker has opened.
        self._answers: Final[dict[FrameConnection, asyncio.Future[AnyFrame]]] = {}
        # Tokens of links that this broker is opening: who brings one of them is this broker itself.
        self._greeting: Final[set[int]] = set()
        # Why brokers may not link to this one, by their name and host: said once, not with every
        # try.
        self._refused: Final[BoundedDict[tuple[str, str], str]] = BoundedDict(_REFUSED_MAX)
        # Who waits for the end of a link.
        self._ends: Final[dict[Link, asyncio.Future[None]]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no connection is left."""
        return not (self._clients or self._links or self._new or self._answers)

    def accepted(self) -> FrameConnection:
        """A connection that another process has opened."""
        return self._connection(self._on_accepted)

    def opened(self) -> FrameConnection:
        """A connection that this process has opened."""
        return self._connection(lambda _connection: None)

    def _connection(self, on_made: Callable[[FrameConnection], None]) -> FrameConnection:
        return FrameConnection(
            on_made=on_made,
            on_frames=self._on_frames,
            on_room=self._on_room,
            on_lost=self._on_lost,
            on_malformed=self._on_malformed,
        )

    # Links to parents

    async def greet(self, connection: FrameConnection, token: int) -> Hello | Refused:
        """Sends HELLO on a control connection and waits for the answer."""
        answer = self._answers[connection] = asyncio.get_running_loop().create_future()
        self._greeting.add(token)
        connection.say(self._hello(token))
        try:
            frame = await answer
        finally:
            self._greeting.discard(token)
            self._answers.pop(connection, None)
        if not isinstance(frame, Hello | Refused):
            raise PeerError(f"HELLO was answered by {type(frame).__name__}")
        return frame

    def add_parent(self, link: Link, data: FrameConnection) -> asyncio.Future[None]:
        """Both connections to a parent are there; returns what is done when the link has ended."""
        ended = self._ends[link] = asyncio.get_running_loop().create_future()
        for connection in link.connections():
            self._links[connection] = link
        if not data.is_open or not all(each.is_open for each in link.connections()):
            self._end(link, None)
            return ended
        self._up(link, data, PortKind.PARENT)
        return ended

    def _hello(self, token: int) -> Hello:
        return Hello(broker=self._name, life=self._life, roles=_ROLES, token=token)

    # Whoever connects

    def _on_accepted(self, connection: FrameConnection) -> None:
        if len(self._new) >= _NEW_MAX:
            connection.close(PeerError(f"{_NEW_MAX} connections have said nothing yet"))
        else:
            self._new[connection] = monotonic_ns()

    def _on_frames(self, connection: FrameConnection, frames: list[AnyFrame]) -> None:
        port = self._clients.get(connection)
        if port is not None:
            self._events.on_frames(port, frames)
            return
        link = self._links.get(connection)
        if link is not None:
            if not _OF_BROKERS.issuperset(map(type, frames)):
                connection.close(PeerError("a broker has sent a frame of clients"))
            elif link.port in self.outlets:
                self._events.on_frames(link.port, frames)
        elif connection in self._answers:
            answer = self._answers[connection]
            if not answer.done():
                answer.set_result(frames[0])
        elif self._new.pop(connection, None) is not None:
            self._introduce(connection, frames)

    def _introduce(self, connection: FrameConnection, frames: list[AnyFrame]) -> None:
        first = frames[0]
        if isinstance(first, Connect):
            if len(self._clients) >= self._settings.clients_max:
                text = f"it has its {self._settings.clients_max:,} clients: use another broker"
                self._refuse(connection, "full", text)
                return
            port = self._port(PortKind.CLIENT, connection.peer)
            self._clients[connection], self.outlets[port] = port, connection
            self._events.on_up(port, PortKind.CLIENT)
            self._events.on_frames(port, frames)
        elif isinstance(first, Hello):
            link = self._by_token.get(first.token)
            if link is None:
                self._open_half(connection, first)
            elif link.is_paired or (link.broker, link.life) != (first.broker, first.life):
                self._refuse(connection, "token", "this token belongs to another link")
            else:
                self._links[connection] = link
                self._replace(link)
                self._up(link, connection, PortKind.CHILD)
                self._events.on_frames(link.port, frames)
        else:
            self._refuse(connection, "protocol", f"{type(first).__name__} came first")

    def _open_half(self, connection: FrameConnection, hello: Hello) -> None:
        """A child has opened the control connection of a link."""
        children = sum(kind is PortKind.CHILD for kind in self._kinds.values())
        half_open = sum(not link.is_paired for link in self._by_token.values())
        if hello.token in self._greeting:
            text = f"it is broker {self._name!r} itself: name another parent"
            self._refuse_broker(connection, hello, "name", text)
        elif hello.broker == self._name:
            text = (
                f"another broker is called {hello.broker!r}: give each its own directory and name"
            )
            self._refuse_broker(connection, hello, "name", text)
        elif self._has_namesake(hello):
            text = (
                f"a broker {hello.broker!r} is linked here: name parents once, and no two brokers"
                " the same"
            )
            self._refuse_broker(connection, hello, "name", text)
        elif children >= self._settings.children_max or half_open >= _HALF_OPEN_MAX:
            text = f"it has its {children:,} children: use another parent"
            self._refuse_broker(connection, hello, "full", text)
        elif hello.token == 0 or hello.pubends:
            self._refuse(connection, "token", "HELLO on a control connection has a token only")
        else:
            link = Link(hello.token, connection, broker=hello.broker, life=hello.life)
            self._links[connection] = self._by_token[hello.token] = link
            link.put_control(self._hello(hello.token))

    def _has_namesake(self, hello: Hello) -> bool:
        """Whether another broker of that name is linked here.

        One that was started later is; so is one of the same life that has just been heard: whoever
        links anew has lost its link, and is silent there.
        """
        heard_since_ns = monotonic_ns() - 2 * self._settings.ping_ns
        return any(
            link.is_paired
            and link.broker == hello.broker
            and (link.life, link.alive_ns) > (hello.life, heard_since_ns)
            for link in self._by_token.values()
        )

    def _replace(self, link: Link) -> None:
        """A broker has one link here: an older one is dead, though nothing has shown it yet."""
        for other in list(self._by_token.values()):
            if other is not link and other.is_paired and other.broker == link.broker:
                _log.info("broker %s is linked anew, from %s", link.broker, link.peer)
                other.close(PeerError("replaced"))
                self._end(other, None)

    def _refuse_broker(
        self, connection: FrameConnection, hello: Hello, reason: str, text: str
    ) -> None:
        """It will try again and again: its log and this one say so once, until it changes."""
        who = (hello.broker, _host_of(connection))
        is_told = self._refused.get(who) == text
        self._refused[who] = text
        self._refuse(connection, reason, text, is_told=is_told)

    def _refuse(
        self, connection: FrameConnection, reason: str, text: str, *, is_told: bool = False
    ) -> None:
        if not is_told:
            _log.info("%s refused: %s", connection.peer, text)
        connection.say(refusal(RefusedKind.CONNECTION, 0, reason, text))
        connection.close()

    def _up(self, link: Link, data: FrameConnection, kind: PortKind) -> None:
        self._links[data] = link
        self._refused.pop((link.broker, _host_of(data)), None)
        link.pair(data, self._port(kind, data.peer))
        self.outlets[link.port] = link
        self._kinds[link.port] = kind
        self._events.on_up(link.port, kind)

    def _port(self, kind: PortKind, peer: str) -> Port:
        self._opened += 1
        return f"{kind.value}/{peer}/{self._opened}"

    # What happens to connections

    def _on_room(self, connection: FrameConnection, size_bytes: int) -> None:
        port = self._clients.get(connection)
        if port is None:
            link = self._links.get(connection)
            if link is None or link.port not in self.outlets or not link.is_data(connection):
                return
            port = link.port
        self._events.on_room(port, size_bytes)

    def _on_malformed(self, connection: FrameConnection, error: PeerError) -> None:
        port = self._clients.get(connection)
        answer = self._answers.get(connection)
        if port is not None:
            self._events.on_malformed(port, error)
        elif answer is not None:
            if not answer.done():
                answer.set_exception(error)
            connection.close(error)
        elif connection in self._new:
            del self._new[connection]
            reason = "version" if isinstance(error, VersionError) else "protocol"
            self._refuse(connection, reason, str(error))
        else:
            connection.close(error)

    def _on_lost(self, connection: FrameConnection, error: Exception | None) -> None:
        self._new.pop(connection, None)
        answer = self._answers.get(connection)
        if answer is not None and not answer.done():
            answer.set_exception(error or UnreachableError("it has closed the connection"))
        port = self._clients.pop(connection, None)
        if port is not None:
            if error is not None:
                _log.info("client %s: %s", connection.peer, in_words(error))
            del self.outlets[port]
            self._events.on_down(port, PortKind.CLIENT)
        link = self._links.pop(connection, None)
        if link is not None:
            link.close(error or PeerError("the other connection of the link has ended"))
            self._end(link, error)

    def _end(self, link: Link, error: Exception | None) -> None:
        """A link is gone for the machine, with its first connection that is."""
        self._by_token.pop(link.token, None)
        ended = self._ends.pop(link, None)
        if ended is not None and not ended.done():
            ended.set_result(None)
        if self.outlets.pop(link.port, None) is not None:
            kind = self._kinds.pop(link.port)
            if error is not None:
                why = in_words(error)
                _log.info("%s %s at %s: %s", kind.value, link.broker, link.peer, why)
            self._events.on_down(link.port, kind)

    # Heartbeats

    async def watch(self) -> None:
        """Shows others that this broker is there, and closes what is silent."""
        settings = self._settings
        last_ns = monotonic_ns()
        while True:
            await asyncio.sleep(settings.ping_ns / SECOND)
            now, slept_ns = monotonic_ns(), monotonic_ns() - last_ns
            last_ns = now
            # Who was stopped itself has not read what others have sent meanwhile.
            if slept_ns < 2 * settings.ping_ns:
                self._close_silent(now)
            for outlet in list(self.outlets.values()):
                if isinstance(outlet, Link):
                    outlet.ping()
                else:
                    outlet.say(ClientPing())

    def _close_silent(self, now: int) -> None:
        settings = self._settings
        limits = [(c, c.last_received_ns, settings.client_silent_ns) for c in self._clients]
        limits += [(c, since, settings.silent_ns) for c, since in self._new.items()]
        for connection, since_ns, limit_ns in limits:
            if now - since_ns > limit_ns:
                connection.close(UnreachableError(f"silent for {limit_ns / SECOND:g} s"))
        for link in [*self._by_token.values(), *self._ends]:
            if now - link.alive_ns > settings.silent_ns:
                link.close(UnreachableError(f"silent for {settings.silent_ns / SECOND:g} s"))

    # The end

    def pause(self, port: Port) -> None:
        """Takes nothing more from a client."""
        connection = self.outlets.get(port)
        if isinstance(connection, FrameConnection):
            connection.pause_reading()

    def pause_clients(self) -> None:
        """Takes nothing more from clients."""
        for connection in self._clients:
            connection.pause_reading()

    def close(self) -> None:
        """Ends all connections; what was written still leaves."""
        for connection in [*self._clients, *self._links, *self._new, *self._answers]:
            connection.close()


def _host_of(connection: FrameConnection) -> str:
    """Where it comes from; ports differ from one connection to the next."""
    return connection.peer.rpartition(":")[0]
