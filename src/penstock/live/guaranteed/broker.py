"""A broker of guaranteed streams in one process: its machine, sockets and directory.

Whoever connects says by the first frame whether it is a broker or a client. Links to parents are
opened from here, again and again; a connection that is silent for three seconds is closed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Final

from penstock.guaranteed.broker import Broker, BrokerState
from penstock.guaranteed.facts import BrokerFact, Disconnect, StreamUnwanted, StreamWanted
from penstock.guaranteed.settings import BrokerSettings
from penstock.kernel.errors import UnreachableError, UsageError
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.machine import Append, Deliver, Fetch, Save, Send, Trim
from penstock.live.guaranteed.directory import BrokerDirectory
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import WINDOW_BYTES, AnyFrame, FrameConnection
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.client import ClientPing, Connect
from penstock.wire.frames.guaranteed.hello import Hello, Ping

_log: Final = logging.getLogger("penstock.streams")
_RETRY_S: Final = 0.5
_STREAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def size_of(frame: AnyFrame) -> int:
    """The bytes of a frame on a connection."""
    if isinstance(frame, BrokerFrame):
        return 4 + BROKER_FRAMES.size_of(frame)
    return 4 + CLIENT_FRAMES.size_of(frame)


class StreamBroker:
    """Call `start`, then `wait` until it ends."""

    def __init__(
        self,
        directory: Path,
        *,
        name: str | None = None,
        parents: Sequence[HostPort] = (),
        settings: BrokerSettings | None = None,
    ) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._parents: Final = tuple(parents)
        self._ended: Final[asyncio.Future[None]] = self._loop.create_future()
        self._connections: Final[dict[str, FrameConnection]] = {}
        self._ports: Final[dict[FrameConnection, str]] = {}
        self._opened = 0
        self._server: asyncio.Server | None = None
        self._tasks: Final[list[asyncio.Task[None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for: Instant = 0
        self._is_closed = False
        self.address = ""
        self.directory: Final = BrokerDirectory(
            directory, on_event=self._on_disk, on_failed=self._on_disk_failed
        )
        # The port is part of the default, so that two brokers of one machine differ.
        self.name: Final = self.directory.name(name, f"broker-{self.directory.life}-{time_ns():x}")
        state = BrokerState(
            name=self.name,
            life=self.directory.life,
            wall_ns=time_ns(),
            pubends=[self.directory.open_stream(entry) for entry in self.directory.streams()],
            parents=len(parents),
            saved=self.directory.saved,
        )
        self.machine: Final = Broker(
            state, settings=settings or BrokerSettings(), size_of=size_of, now=monotonic_ns()
        )
        for pubend in self.machine.pubends.values():
            if pubend.clock.was_wall_set_back:
                _log.warning(
                    "the clock is a minute or more behind stream %r: was it set back?"
                    " The stream goes on ahead of it",
                    pubend.stream,
                )

    async def start(self, listen: HostPort) -> None:
        """Listens, and connects to parents."""
        try:
            self._server = await self._loop.create_server(
                lambda: self._new_connection(self._on_accepted), listen.host, listen.port
            )
        except OSError as error:
            raise UsageError(
                f"cannot listen on {listen}: {error.strerror or error}: is a broker running there?"
            ) from None
        host, port, *_ = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        self._tasks.append(self._loop.create_task(self._watch()))
        self._tasks.extend(self._loop.create_task(self._keep_parent(p)) for p in self._parents)
        self._step(lambda _broker, _now: None)

    async def wait(self) -> None:
        """Waits until it is closed; raises what ended it."""
        await asyncio.shield(self._ended)

    async def close(self) -> None:
        """Confirms what was taken, then ends."""
        if self._is_closed:
            return
        if self._server is not None:
            self._server.close()
        for _ in range(50):
            if not any(pubend.unsynced for pubend in self.machine.pubends.values()):
                break
            await asyncio.sleep(0.02)
        self._close()

    def _close(self, error: BaseException | None = None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._ports):
            connection.close()
        if error is None:
            self.directory.close()
        if not self._ended.done():
            if error is None:
                self._ended.set_result(None)
            else:
                self._ended.set_exception(error)

    # Connections

    def _new_connection(self, on_made: Callable[[FrameConnection], None]) -> FrameConnection:
        return FrameConnection(
            on_made=on_made,
            on_frames=self._on_frames,
            on_room=self._on_room,
            on_lost=self._on_lost,
        )

    def _on_accepted(self, connection: FrameConnection) -> None:
        """Its first frame says what it is."""

    def _add(self, connection: FrameConnection, kind: str) -> str:
        self._opened += 1
        port = f"{kind}/{connection.peer}/{self._opened}"
        self._ports[connection], self._connections[port] = port, connection
        return port

    def _on_frames(self, connection: FrameConnection, frames: list[AnyFrame]) -> None:
        port = self._ports.get(connection)
        if port is None:
            port = self._introduce(connection, frames[0])
            if port is None:
                return

        def receive(broker: Broker, now: Instant) -> None:
            for frame in frames:
                if not isinstance(frame, Ping | ClientPing):
                    broker.receive(frame, via=port, now=now)

        self._step(receive)

    def _introduce(self, connection: FrameConnection, first: AnyFrame) -> str | None:
        if isinstance(first, Connect):
            port = self._add(connection, "client")
            self._step(lambda b, now: b.client_up(port, room_bytes=WINDOW_BYTES, now=now))
            return port
        if isinstance(first, Hello):
            port = self._add(connection, "child")
            self._step(
                lambda b, now: b.link_up(port, to_parent=False, room_bytes=WINDOW_BYTES, now=now)
            )
            return port
        connection.close(UsageError("neither a broker nor a client"))
        return None

    def _on_room(self, connection: FrameConnection, size_bytes: int) -> None:
        port = self._ports.get(connection)
        if port is not None:
            self._step(lambda b, now: b.room(port, size_bytes, now=now))

    def _on_lost(self, connection: FrameConnection, error: Exception | None) -> None:
        port = self._ports.pop(connection, None)
        if port is None or self._is_closed:
            return
        if error is not None:
            _log.info("%s: %s", connection.peer, error)
        del self._connections[port]
        if port.startswith("client/"):
            self._step(lambda b, now: b.client_down(port, now=now))
        else:
            self._step(lambda b, now: b.link_down(port, now=now))

    async def _keep_parent(self, parent: HostPort) -> None:
        """Opens a link to a parent, whenever there is none."""
        is_told = False
        while True:
            lost = self._loop.create_future()

            def on_made(connection: FrameConnection) -> None:
                port = self._add(connection, "parent")
                self._step(
                    lambda b, now: b.link_up(port, to_parent=True, room_bytes=WINDOW_BYTES, now=now)
                )

            def on_lost(
                connection: FrameConnection,
                error: Exception | None,
                lost: asyncio.Future[None] = lost,
            ) -> None:
                self._on_lost(connection, error)
                if not lost.done():
                    lost.set_result(None)

            try:
                await self._loop.create_connection(
                    lambda: FrameConnection(
                        on_made=on_made,
                        on_frames=self._on_frames,
                        on_room=self._on_room,
                        on_lost=on_lost,
                    ),
                    parent.host,
                    parent.port,
                )
            except OSError:
                if not is_told:
                    _log.warning("no broker answers at %s: trying again", parent)
                    is_told = True
            else:
                is_told = False
                await lost
            await asyncio.sleep(_RETRY_S)

    async def _watch(self) -> None:
        """Shows others that this broker is there, and closes what is silent."""
        silent_ns = self.machine.settings.link.silent_ns
        while True:
            await asyncio.sleep(1.0)
            for connection, port in list(self._ports.items()):
                limit_ns = 10 * silent_ns if port.startswith("client/") else silent_ns
                if monotonic_ns() - connection.last_received_ns > limit_ns:
                    connection.close(UnreachableError(f"silent for {limit_ns / SECOND:g} s"))
                    continue
                connection.put(ClientPing() if port.startswith("client/") else Ping())
                connection.flush()

    # The machine

    def _step(self, verb: Callable[[Broker, Instant], None]) -> None:
        """Runs a verb, carries out all outputs, re-arms the timer; an exception is a bug."""
        if self._is_closed:
            return
        try:
            verb(self.machine, monotonic_ns())
            self._drain()
            self._arm()
        except Exception as error:
            self._close(error)
            raise

    def _drain(self) -> None:
        poll, connections = self.machine.poll, self._connections
        written: dict[str, FrameConnection] = {}
        while True:
            while (output := poll()) is not None:
                if type(output) is Send:
                    connection = connections.get(output.port)
                    if connection is not None:
                        connection.put(output.frame)
                        written[output.port] = connection
                elif type(output) is Deliver:
                    fact = output.item
                    assert isinstance(fact, StreamWanted | StreamUnwanted | Disconnect)
                    self._carry_out(fact)
                else:
                    assert isinstance(output, Append | Fetch | Trim | Save)
                    self.directory.carry_out(output)
            room = [(port, connection.flush()) for port, connection in written.items()]
            written.clear()
            if not any(size_bytes for _, size_bytes in room):
                return
            for port, size_bytes in room:
                if size_bytes:
                    self.machine.room(port, size_bytes, now=monotonic_ns())

    def _arm(self) -> None:
        wakeup = self.machine.next_wakeup()
        if wakeup is None:
            return
        if self._timer is not None:
            if self._armed_for <= wakeup:
                return
            self._timer.cancel()
        self._armed_for = wakeup
        delay_s = max(0, wakeup - monotonic_ns()) / SECOND
        self._timer = self._loop.call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None

        def wake(broker: Broker, now: Instant) -> None:
            wakeup = broker.next_wakeup()
            if wakeup is not None and wakeup <= now:
                for pubend in broker.pubends.values():
                    pubend.clock.set_wall(time_ns(), now)
                broker.wake(now=now)

        self._step(wake)

    # The disk

    def _on_disk(self) -> None:
        def report(broker: Broker, now: Instant) -> None:
            events = self.directory.events
            while events:
                verb, *arguments = events.popleft()
                if verb == "saved" and arguments[0] < 0:  # type: ignore[operator]
                    continue
                getattr(broker, str(verb))(*arguments, now=now)

        self._step(report)

    def _on_disk_failed(self, error: BaseException) -> None:
        """Nothing is confirmed any more: what is not on disk now may never be."""
        _log.error("the disk of %s failed: %s", self.directory.path, error)
        self._close(error)

    # What concerns the directory and connections

    def _carry_out(self, fact: BrokerFact) -> None:
        """Does what the machine cannot; it is told in a later step."""
        if isinstance(fact, StreamWanted):
            self._loop.call_soon(self._create, fact)
        elif isinstance(fact, StreamUnwanted):
            self._loop.call_soon(self._delete, fact)
        else:
            connection = self._connections.get(fact.port)
            _log.info("%s: %s", fact.port, fact.text)
            if connection is not None:
                connection.flush()
                connection.close()

    def _create(self, fact: StreamWanted) -> None:
        if not _STREAM_NAME.fullmatch(fact.stream):
            text = f"{fact.stream!r} is no name of a stream: use 1 to 64 letters, digits, '._-'"
            self._step(lambda b, now: b.stream_refused(fact.stream, "bad_request", text, now=now))
            return
        try:
            state = self.directory.create_stream(fact.stream, fact.retention)
        except OSError as error:
            text = f"stream {fact.stream!r} cannot be created: {error.strerror}: make room"
            self._step(lambda b, now: b.stream_refused(fact.stream, "disk_full", text, now=now))
            return
        self._step(lambda b, now: b.add_stream(state, now=now))

    def _delete(self, fact: StreamUnwanted) -> None:
        self.directory.delete_stream(fact.stream, fact.log)
        self._step(lambda b, now: b.stream_deleted(fact.stream, now=now))
