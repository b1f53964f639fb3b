"""A connection to a broker that is opened again whenever it is lost.

Of several addresses the first that answers is used, and stays: durable names belong to one host.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from socket import gaierror
from time import monotonic_ns
from typing import Final

from penstock.kernel.errors import UnreachableError
from penstock.kernel.instant import SECOND
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import AnyFrame, FrameConnection

_log: Final = logging.getLogger("penstock.link")
_RETRY_S: Final = 0.2
_RETRY_S_MAX: Final = 2.0
_PING_S: Final = 1.0
_SILENT_S: Final = 5.0
# For a first answer, where there is another address to try.
_ANSWER_S: Final = 1.0


class KeptConnection:
    """`on_up` has a new connection, `on_frames` what came in one read, `on_down` the end of it."""

    def __init__(
        self,
        addresses: Sequence[HostPort],
        *,
        on_up: Callable[[], None],
        on_frames: Callable[[list[AnyFrame]], None],
        on_down: Callable[[], None],
        on_ping: Callable[[], None],
    ) -> None:
        self.address = addresses[0]
        self.reconnects = 0
        # Host names that nobody knows.
        self.unresolved: Final[set[str]] = set()
        self._addresses = list(addresses)
        self._on_up: Final = on_up
        self._on_frames: Final = on_frames
        self._on_down: Final = on_down
        self._on_ping: Final = on_ping
        self._loop: Final = asyncio.get_running_loop()
        self._connection: FrameConnection | None = None
        self._has_answered = False
        self._is_closed = False
        self._task: Final = self._loop.create_task(self._keep())

    def put(self, frame: AnyFrame) -> None:
        """Adds a frame to the next write; without a connection it is dropped."""
        if self._connection is not None:
            self._connection.put(frame)

    def flush_soon(self) -> None:
        """Writes when what runs now is done."""
        if self._connection is not None:
            self._connection.flush_soon()

    def flush(self) -> None:
        """Writes at once."""
        if self._connection is not None:
            self._connection.flush()

    def answered(self) -> None:
        """The broker speaks the protocol: this address stays."""
        if self.reconnects and not self._has_answered:
            # A warning, as the line about its loss is: who sees one sees the other.
            _log.warning(
                "connected to the broker %s again",
                self.address,
                extra={"address": str(self.address)},
            )
        self._addresses = [self.address]
        self._has_answered = True

    def close(self) -> None:
        """Ends it; what was put still leaves."""
        self._is_closed = True
        self._task.cancel()
        self.disconnect()

    def disconnect(self) -> None:
        """Ends the connection of now."""
        if self._connection is not None:
            self._connection.flush()
            self._connection.close()

    async def _keep(self) -> None:
        retry_s = _RETRY_S
        while not self._is_closed:
            for address in self._addresses.copy():
                self.address = address
                if await self._connect():
                    retry_s = _RETRY_S
                    break
            if not self._is_closed:
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _RETRY_S_MAX)

    async def _connect(self) -> bool:
        """Opens a connection and stays until it ends; returns whether the broker had answered."""
        lost: asyncio.Future[None] = self._loop.create_future()

        def on_lost(_connection: FrameConnection, _error: Exception | None) -> None:
            if not lost.done():
                lost.set_result(None)

        def on_frames(_connection: FrameConnection, frames: list[AnyFrame]) -> None:
            if not lost.done():
                self._on_frames(frames)

        try:
            async with asyncio.timeout(_ANSWER_S if len(self._addresses) > 1 else _SILENT_S):
                _, connection = await self._loop.create_connection(
                    lambda: FrameConnection(
                        on_made=lambda _connection: None,
                        on_frames=on_frames,
                        on_room=lambda _connection, _bytes: None,
                        on_lost=on_lost,
                    ),
                    self.address.host,
                    self.address.port,
                )
        except (gaierror, UnicodeError):
            # The latter is a name that no host can have.
            self.unresolved.add(self.address.host)
            return False
        except (OSError, TimeoutError):
            return False
        self.unresolved.discard(self.address.host)
        self._connection, self._has_answered = connection, False
        self._on_up()
        await self._watch(connection, lost)
        self._connection = None
        self._on_down()
        if self._has_answered and not self._is_closed:
            self.reconnects += 1
            _log.warning(
                "the broker %s is gone: connecting again",
                self.address,
                extra={"address": str(self.address)},
            )
        return self._has_answered

    async def _watch(self, connection: FrameConnection, lost: asyncio.Future[None]) -> None:
        """Until the connection is lost, or silent for too long."""
        while not lost.done():
            await asyncio.wait([lost], timeout=_PING_S)
            if lost.done():
                return
            silent_s = (monotonic_ns() - connection.last_received_ns) / SECOND
            is_last = self._has_answered or len(self._addresses) == 1
            if silent_s > (_SILENT_S if is_last else _ANSWER_S):
                connection.close(UnreachableError("silent"))
                await lost
            elif self._has_answered:
                self._on_ping()
