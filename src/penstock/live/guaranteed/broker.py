"""A broker of guaranteed streams in one process: its machine, connections and directory.

What comes from connections, disk and clock becomes a step of the machine; what the machine wants
is carried out before the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Final

from penstock.guaranteed.broker import Broker
from penstock.guaranteed.facts import Alarm, BrokerFact, Disconnect, StreamUnwanted, StreamWanted
from penstock.guaranteed.settings import BrokerSettings
from penstock.kernel.errors import PeerError, PenstockError, UsageError, VersionError
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.machine import Append, Count, Deliver, Fetch, Port, Save, Send, Trim
from penstock.live.error_text import in_words
from penstock.live.guaranteed.addresses import is_same, why_not_listening
from penstock.live.guaranteed.directory import BrokerDirectory
from penstock.live.guaranteed.links import Links, PortKind
from penstock.live.guaranteed.parents import ParentLink
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import (
    LIMITED_WINDOW_BYTES,
    WINDOW_BYTES,
    AnyFrame,
    FrameConnection,
)
from penstock.live.net.link import Link
from penstock.live.net.wakeup_timer import WakeupTimer
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame, check_stream_name

_log: Final = logging.getLogger("penstock.streams")
# How long closing waits for the disk, and for those that are told.
_SYNC_S: Final = 10.0
_SAY_S: Final = 1.0
# Logs without a stream, in one line.
_STRAY_MAX: Final = 5


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
        self._server: asyncio.Server | None = None
        self._tasks: Final[list[asyncio.Task[None]]] = []
        self._timer: Final = WakeupTimer(self._loop, self._on_timer)
        self._is_turn_ending = False
        self._is_ended = False
        self._closing: asyncio.Task[None] | None = None
        # Ports of clients that are told to go.
        self._leaving: Final[list[Port]] = []
        self.address = ""
        self.directory: Final = BrokerDirectory(
            directory, on_event=self._on_disk, on_failed=self._on_disk_failed
        )
        try:
            state = self.directory.state(name, parents=len(parents), wall_ns=time_ns())
        except BaseException:
            self.directory.close()
            raise
        self.name: Final = state.name
        self.machine: Final = Broker(
            state, settings=settings or BrokerSettings(), size_of=size_of, now=monotonic_ns()
        )
        self.machine.sync_times = self.directory.sync_times
        self._links: Final = Links(
            self.name, self.directory.life, settings=self.machine.settings.link, events=self
        )
        stray = self.directory.stray_logs()
        if stray:
            _log.warning(
                "%s has logs of no stream, %s: bring the store back if it was lost, or remove them",
                self.directory.path / "logs",
                ", ".join(stray[:_STRAY_MAX]) + (" …" if len(stray) > _STRAY_MAX else ""),
            )
        for pubend in self.machine.pubends.values():
            if pubend.clock.was_wall_set_back:
                _log.warning(
                    "stream %r is a minute or more ahead of the clock, and goes on so:"
                    " was the clock set back?",
                    pubend.stream,
                )

    async def start(self, listen: HostPort) -> None:
        """Listens, and connects to parents."""
        for parent in self._parents:
            if is_same(listen, parent):
                self._end()
                raise UsageError(
                    f"parent {parent} is this broker itself, which listens at {listen}:"
                    " name another, or none"
                )
        try:
            self._server = await self._loop.create_server(
                self._links.accepted, listen.host, listen.port
            )
        except OSError as error:
            self._end()
            raise UsageError(f"cannot listen on {listen}: {why_not_listening(error)}") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        self.address = str(HostPort(host, port))
        self.machine.address = self.address
        self._tasks.append(self._loop.create_task(self._links.watch()))
        timeout_s = self.machine.settings.link.silent_ns / SECOND
        for parent in self._parents:
            link = ParentLink(parent, self._links, timeout_s=timeout_s)
            self._tasks.append(self._loop.create_task(link.keep()))
        self._step(lambda _broker, _now: None)

    async def wait(self) -> None:
        """Waits until it is closed; raises what ended it."""
        await asyncio.shield(self._ended)

    async def close(self) -> None:
        """Confirms what was taken, then ends; to close twice is no error."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        # Nothing more is taken from clients, so this has an end, if the disk has.
        self._links.pause_clients()
        await self._until(self._is_all_synced, _SYNC_S)
        await self._until(self._is_all_said, _SAY_S)
        self._end()
        await self._until(lambda: self._links.is_empty, _SAY_S)

    async def _until(self, is_done: Callable[[], bool], timeout_s: float) -> None:
        until_ns = monotonic_ns() + int(timeout_s * SECOND)
        while not (is_done() or self._links.is_empty or monotonic_ns() >= until_ns):
            await asyncio.sleep(0.005)

    def _is_all_synced(self) -> bool:
        return not any(pubend.unsynced for pubend in self.machine.pubends.values())

    def _is_all_said(self) -> bool:
        return not any(len(queue) for queue in self.machine.queues.values())

    def _end(self, error: BaseException | None = None) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
        self._timer.cancel()
        self._links.close()
        if error is None:
            self.directory.close()
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)
            # Whoever does not wait for the end has no use for it.
            self._ended.exception()

    # Connections

    def on_up(self, port: Port, kind: PortKind) -> None:
        """A client or another broker is there."""
        if kind is PortKind.CLIENT:
            self._step(lambda b, now: b.client_up(port, room_bytes=WINDOW_BYTES, now=now))
        else:
            to_parent = kind is PortKind.PARENT
            link = self._links.outlets[port]
            assert isinstance(link, Link)
            self._step(
                lambda b, now: b.link_up(
                    port,
                    to_parent=to_parent,
                    room_bytes=LIMITED_WINDOW_BYTES,
                    address=link.reached_at,
                    now=now,
                )
            )

    def on_frames(self, port: Port, frames: list[AnyFrame]) -> None:
        """What came in one read."""
        self._step(lambda b, now: b.receive_all(frames, via=port, now=now))

    def on_room(self, port: Port, size_bytes: int) -> None:
        """So many more bytes may be sent."""
        self._step(lambda b, now: b.room(port, size_bytes, now=now))

    def on_malformed(self, port: Port, error: PeerError) -> None:
        """A client has sent what cannot be decoded."""
        reason = "version" if isinstance(error, VersionError) else "protocol"
        self._step(lambda b, now: b.close_client(port, reason, str(error), now=now))

    def on_down(self, port: Port, kind: PortKind) -> None:
        """A client or another broker is gone."""
        if kind is PortKind.CLIENT:
            self._step(lambda b, now: b.client_down(port, now=now))
        else:
            self._step(lambda b, now: b.link_down(port, now=now))

    # The machine

    def _step(self, verb: Callable[[Broker, Instant], None]) -> None:
        """Runs a verb and carries out all outputs; an exception is a bug."""
        if self._is_ended:
            return
        try:
            verb(self.machine, monotonic_ns())
            self._drain()
            if not self._is_turn_ending:
                self._is_turn_ending = True
                self._loop.call_soon(self._end_turn)
        except Exception as error:
            self._end(error)
            raise

    def _drain(self) -> None:
        poll, outlets = self.machine.poll, self._links.outlets
        written: dict[str, FrameConnection | Link] = {}
        while True:
            while (output := poll()) is not None:
                if type(output) is Send:
                    outlet = outlets.get(output.port)
                    if outlet is not None:
                        outlet.put(output.frame)
                        written[output.port] = outlet
                elif type(output) is Deliver:
                    fact = output.item
                    assert isinstance(fact, StreamWanted | StreamUnwanted | Disconnect | Alarm)
                    self._carry_out(fact)
                else:
                    assert isinstance(output, Append | Fetch | Count | Trim | Save)
                    self.directory.carry_out(output)
            room = [(port, outlet.flush()) for port, outlet in written.items()]
            written.clear()
            if not any(size_bytes for _, size_bytes in room):
                break
            for port, size_bytes in room:
                if size_bytes:
                    self.machine.room(port, size_bytes, now=monotonic_ns())
        if self._leaving:
            self._leave()

    def _leave(self) -> None:
        """Closes the connections to which all has been said."""
        for port in self._leaving.copy():
            queue, outlet = self.machine.queues.get(port), self._links.outlets.get(port)
            if queue is None or not len(queue):
                self._leaving.remove(port)
                if outlet is not None:
                    outlet.close()

    def _end_turn(self) -> None:
        """Once for all steps of one turn of the event loop: what they append shares a sync."""
        self._is_turn_ending = False
        if not self._is_ended:
            self.directory.write()
            self._arm()

    def _arm(self) -> None:
        self._timer.arm(self.machine.next_wakeup())

    def _on_timer(self) -> None:
        def wake(broker: Broker, now: Instant) -> None:
            wakeup = broker.next_wakeup()
            if wakeup is not None and wakeup <= now:
                for pubend in broker.pubends.values():
                    pubend.clock.set_wall(time_ns(), now)
                broker.wake(now=now)

        self._step(wake)

    # The disk

    def _on_disk(self) -> None:
        if not self.directory.events:
            return

        def report(broker: Broker, now: Instant) -> None:
            events = self.directory.events
            while events:
                verb, *arguments = events.popleft()
                getattr(broker, str(verb))(*arguments, now=now)

        self._step(report)
        # Confirmations have left.
        self._step(lambda b, now: b.settle(now=now))

    def _on_disk_failed(self, error: BaseException) -> None:
        """Nothing is confirmed any more: what is not on disk now may never be."""
        self._end(
            PenstockError(
                f"the disk of {self.directory.path} failed: {in_words(error)}: check it before"
                " starting again"
            )
        )

    # What concerns the directory and connections

    def _carry_out(self, fact: BrokerFact) -> None:
        """Does what the machine cannot; it is told in a later step."""
        if isinstance(fact, StreamWanted):
            self._loop.call_soon(self._create, fact)
        elif isinstance(fact, StreamUnwanted):
            self._loop.call_soon(self._delete, fact)
        elif isinstance(fact, Alarm):
            _log.warning("%s", fact.text)
        else:
            _log.info("%s: %s", fact.port, fact.text)
            self._leaving.append(fact.port)
            self._links.pause(fact.port)

    def _create(self, fact: StreamWanted) -> None:
        try:
            check_stream_name(fact.stream)
        except UsageError as error:
            text = str(error)
            self._step(lambda b, now: b.stream_refused(fact.stream, "bad_request", text, now=now))
            return
        try:
            self.directory.create_stream(
                fact, lambda state: self._step(lambda b, now: b.add_stream(state, now=now))
            )
        except OSError as error:
            text = f"stream {fact.stream!r} cannot be created: {error.strerror}: make room"
            self._step(lambda b, now: b.stream_refused(fact.stream, "disk_full", text, now=now))

    def _delete(self, fact: StreamUnwanted) -> None:
        def deleted() -> None:
            self._step(lambda b, now: b.stream_deleted(fact.stream, now=now))

        self.directory.delete_stream(fact.stream, fact.log, deleted)
