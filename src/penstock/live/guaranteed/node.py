"""A program's connection to guaranteed streams: publish until it is on disk, read on where it was.

One machine (`guaranteed.client`) lives as long as the node; connections come and go below it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from os import environ
from secrets import token_hex
from time import monotonic_ns, time_ns
from typing import Any, Final, Literal

from penstock.api.checkpoint import Checkpoint
from penstock.api.confirmation import Confirmation
from penstock.api.errors import (
    ClosedError,
    DurableError,
    GapError,
    NotConfirmedError,
    RefusedError,
    TooLargeError,
    UnreachableError,
)
from penstock.api.feed import Feed, FeedSource
from penstock.api.filter import Filter, as_filter, predicate_of
from penstock.api.loss import Loss
from penstock.api.message import Fate
from penstock.api.opening import Opening
from penstock.api.position import Position
from penstock.api.start import Start, StartKind, start_point
from penstock.api.stream_message import StreamMessage
from penstock.api.units import Duration, duration_ns
from penstock.content.value import Value
from penstock.guaranteed.client import (
    BROKER,
    AckStored,
    Answered,
    Client,
    ClientFact,
    Confirmed,
    Ended,
    Fenced,
    Missed,
    NotTaken,
    Opened,
    Received,
    SubscriptionOptions,
)
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.kernel.machine import Deliver, Send
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import AnyFrame, FrameConnection
from penstock.wire.codec.guaranteed.body import read_attributes_of, read_payload_of, write_body
from penstock.wire.frames.guaranteed.base import MESSAGE_BYTES_MAX
from penstock.wire.frames.guaranteed.base import Start as WireStart
from penstock.wire.frames.guaranteed.base import StartKind as WireStartKind
from penstock.wire.frames.guaranteed.client import Answer, Refused
from penstock.wire.frames.guaranteed.subscription import AttachFlags
from penstock.wire.frames.guaranteed.subscription import Position as WirePosition

_log: Final = logging.getLogger("penstock.link")
DEFAULT_ADDRESS: Final = "tcp://127.0.0.1:7451"
DEFAULT_PORT: Final = 7451
_RETRY_S: Final = 0.2
_RETRY_S_MAX: Final = 2.0
_PING_S: Final = 1.0
_SILENT_S: Final = 5.0
_LOSSES_MAX: Final = 1_000
# The size is checked here, for an error that carries it.
_ANY_SIZE: Final = 1 << 40
_DURABLE_REASONS: Final = frozenset({"in_use", "other_filter", "other_host", "other_streams"})


def connect(
    address: str | None = None,
    *,
    name: str | None = None,
    timeout: Duration = 5.0,
    drain: Duration = 5.0,
) -> Opening[StreamNode]:
    """Connects to a broker of streams; `name` keeps a publisher's identity over reconnects."""
    where = parse_address(address or environ.get("PENSTOCK_STREAMS") or DEFAULT_ADDRESS)
    timeout_s = duration_ns("timeout", timeout) / SECOND
    drain_s = duration_ns("drain", drain) / SECOND

    async def open_() -> StreamNode:
        node = StreamNode(where, name or f"anonymous-{token_hex(8)}")
        try:
            async with asyncio.timeout(timeout_s):
                await node.wait_connected()
        except TimeoutError:
            await node.aclose()
            raise UnreachableError(
                f"no broker answers at {where}: start one with 'penstock stream broker'"
            ) from None
        return node

    async def close(node: StreamNode, error: BaseException | None) -> None:
        if error is None:
            await node.drain(drain_s)
        await node.aclose()

    return Opening("connect()", open_, close)


def parse_address(text: str) -> HostPort:
    """`tcp://HOST:PORT`, `HOST:PORT` or `HOST`."""
    from penstock.live.net import address

    plain = text.removeprefix("tcp://")
    if "://" in plain:
        raise UsageError(f"streams speak TCP: write tcp://HOST:PORT, not {text!r}")
    has_port = plain.rpartition(":")[2].isdigit() and (":" in plain) and not plain.endswith("]")
    return address.parse(plain if has_port else f"{plain}:{DEFAULT_PORT}")


class StreamNode:
    """One program's way to streams; `connect` makes it."""

    def __init__(self, address: HostPort, name: str) -> None:
        self.name: Final = name
        self.address: Final = str(address)
        self._where: Final = address
        self._loop: Final = asyncio.get_running_loop()
        self._machine: Final = Client(name, time_ns())
        self._connection: FrameConnection | None = None
        self._is_closed = False
        self._refused: Refused | None = None
        self._up: Final = asyncio.Event()
        self._down: Final = asyncio.Event()
        self._down.set()
        self._confirmations: Final[dict[int, asyncio.Future[Confirmation]]] = {}
        self._answers: Final[dict[int, asyncio.Future[Answer]]] = {}
        self._subscriptions: Final[dict[int, StreamSubscription]] = {}
        self._room: Final = asyncio.Event()
        self._room.set()
        self._task: Final = self._loop.create_task(self._keep_connected())

    @property
    def is_connected(self) -> bool:
        """Whether a broker answers now."""
        return self._machine.is_connected

    def stream(self, name: str, *, create: bool = False) -> Stream:
        """A stream by name; nothing is sent before it is used."""
        return Stream(self, name, create=create)

    async def create_stream(self, name: str) -> bool:
        """Creates a stream at this broker; returns False if it was there."""
        try:
            await self._ask("create", {"stream": name})
        except RefusedError as error:
            if error.reason == "exists":
                return False
            raise
        return True

    async def delete_stream(self, name: str) -> None:
        """Deletes a stream with all its messages."""
        await self._ask("delete", {"stream": name})

    async def list_streams(self) -> list[dict[str, Any]]:
        """The streams that this broker knows, with sizes, and who keeps them from being trimmed."""
        found: list[dict[str, Any]] = await self._ask("list", {})
        return found

    async def list_durables(self) -> list[dict[str, Any]]:
        """The durable names of this broker: filter, positions, lag, and who reads them."""
        found: list[dict[str, Any]] = await self._ask("durables", {})
        return found

    async def delete_durable(self, durable: str) -> None:
        """Forgets a durable name, which frees its messages."""
        await self._ask("forget", {"durable": durable})

    async def forget_host(self, host: str) -> None:
        """Forgets a broker that will not come back, with all its durable names."""
        await self._ask("forget", {"host": host})

    async def status(self) -> dict[str, Any]:
        """What the broker is doing."""
        found: dict[str, Any] = await self._ask("status", {})
        return found

    async def wait_connected(self) -> None:
        """Waits until a broker answers; raises if it has refused this node."""
        await self._up.wait()
        self._raise_if_ended()

    async def wait_disconnected(self) -> None:
        """Waits until the connection is gone."""
        await self._down.wait()

    async def drain(self, timeout: Duration | None = None) -> int:
        """Waits for confirmations, so long at most; returns how many are missing."""
        pending = [f for f in self._confirmations.values() if not f.done()]
        if pending:
            seconds = None if timeout is None else duration_ns("timeout", timeout) / SECOND
            await asyncio.wait(pending, timeout=seconds)
        return self._machine.unconfirmed

    async def aclose(self) -> None:
        """Ends the node; closing twice is no error."""
        if self._is_closed:
            return
        self._is_closed = True
        self._task.cancel()
        for subscription in list(self._subscriptions.values()):
            subscription._end(None)
        if self._connection is not None:
            self._connection.flush()
            self._connection.close()
        for confirmation in self._confirmations.values():
            confirmation.cancel()
        for answer in self._answers.values():
            answer.cancel()
        self._up.set()
        self._down.set()
        await asyncio.sleep(0)

    # What streams and subscriptions need

    def _call(self, verb: Callable[[Client], Any]) -> Any:
        self._raise_if_ended()
        result = verb(self._machine)
        self._drain_machine()
        return result

    def _raise_if_ended(self) -> None:
        if self._refused is not None:
            raise RefusedError(
                f"broker {self.address} refused: {self._refused.text}", self._refused.reason
            )
        if self._is_closed:
            raise ClosedError("this node is closed: connect again")

    async def _ask(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        number = self._call(lambda m: m.ask(verb, json.dumps(arguments).encode()))
        future = self._answers[number] = self._loop.create_future()
        try:
            answer = await future
        finally:
            self._answers.pop(number, None)
        return json.loads(answer.result)

    # The connection

    async def _keep_connected(self) -> None:
        retry_s = _RETRY_S
        while not self._is_closed:
            lost: asyncio.Future[None] = self._loop.create_future()

            def on_lost(
                _connection: FrameConnection,
                _error: Exception | None,
                lost: asyncio.Future[None] = lost,
            ) -> None:
                if not lost.done():
                    lost.set_result(None)

            try:
                _, connection = await self._loop.create_connection(
                    lambda: FrameConnection(
                        on_made=lambda _connection: None,
                        on_frames=self._on_frames,
                        on_room=lambda _connection, _bytes: None,
                        on_lost=on_lost,
                    ),
                    self._where.host,
                    self._where.port,
                )
            except OSError:
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _RETRY_S_MAX)
                continue
            retry_s = _RETRY_S
            self._connection = connection
            self._machine.connection_up()
            self._drain_machine()
            await self._watch(connection, lost)
            self._connection = None
            was_connected = self._machine.is_connected
            self._machine.connection_down()
            self._up.clear()
            self._down.set()
            if self._refused is not None:
                self._up.set()
                return
            if was_connected and not self._is_closed:
                _log.warning("the broker %s is gone: connecting again", self.address)
            await asyncio.sleep(_RETRY_S)

    async def _watch(self, connection: FrameConnection, lost: asyncio.Future[None]) -> None:
        """Until the connection is lost, or silent for too long."""
        while not lost.done():
            await asyncio.wait([lost], timeout=_PING_S)
            if monotonic_ns() - connection.last_received_ns > _SILENT_S * SECOND:
                connection.close(UnreachableError("silent"))
                await lost
            elif self._machine.is_connected:
                self._machine.ping()
                self._drain_machine()

    def _on_frames(self, connection: FrameConnection, frames: list[AnyFrame]) -> None:
        if connection is not self._connection:
            return
        for frame in frames:
            self._machine.receive(frame, via=BROKER, now=0)  # type: ignore[arg-type]
        self._drain_machine()
        if self._machine.is_connected and not self._up.is_set():
            self._down.clear()
            self._up.set()

    def _drain_machine(self) -> None:
        poll, connection = self._machine.poll, self._connection
        while (output := poll()) is not None:
            if type(output) is Send:
                if connection is not None:
                    connection.put(output.frame)
            else:
                assert isinstance(output, Deliver)
                self._on_fact(output.item)  # type: ignore[arg-type]
        if connection is not None:
            connection.flush_soon()
        if self._machine.has_room:
            self._room.set()
        else:
            self._room.clear()

    def _on_fact(self, fact: ClientFact) -> None:
        if isinstance(fact, Received):
            self._subscriptions[fact.subscription]._on_message(fact)
        elif isinstance(fact, Confirmed):
            future = self._confirmations.pop(fact.publication, None)
            if future is not None and not future.done():
                stored = fact.stored
                position = Position(stored.pubend, stored.tick) if stored.tick else None
                future.set_result(
                    Confirmation(
                        position=position,
                        is_duplicate=stored.is_duplicate,
                        confirmed_ns=time_ns(),
                    )
                )
        elif isinstance(fact, NotTaken):
            future = self._confirmations.pop(fact.publication, None)
            if future is not None and not future.done():
                future.set_exception(_refusal(fact.refused))
        elif isinstance(fact, Missed | Opened | AckStored | Ended):
            subscription = self._subscriptions.get(fact.subscription)
            if subscription is not None:
                subscription._on_fact(fact)
        elif isinstance(fact, Answered):
            answer = self._answers.get(fact.request)
            if answer is not None and not answer.done():
                if isinstance(fact.answer, Refused):
                    answer.set_exception(_refusal(fact.answer))
                else:
                    answer.set_result(fact.answer)
        else:
            assert isinstance(fact, Fenced)
            self._refused = fact.refused
            if self._connection is not None:
                self._connection.close()


class Stream:
    """A stream by name."""

    def __init__(self, node: StreamNode, name: str, *, create: bool) -> None:
        self.name: Final = name
        self._node: Final = node
        self._is_to_create = create

    async def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        *,
        publication: int | None = None,
        timeout: Duration = 30.0,
    ) -> Confirmation:
        """Stores a message; returns when it is on disk."""
        timeout_s = duration_ns("timeout", timeout) / SECOND
        try:
            async with asyncio.timeout(timeout_s):
                pending = await self.submit(attributes, payload, publication=publication)
                return await asyncio.shield(pending.future)
        except TimeoutError:
            why = f"no confirmation for {timeout_s:g} s"
            raise NotConfirmedError(publication or pending.publication, why) from None

    async def submit(
        self,
        attributes: Mapping[str, Value],
        payload: bytes = b"",
        *,
        publication: int | None = None,
    ) -> Pending:
        """Sends a message as soon as there is credit; await the result for its confirmation."""
        body = write_body(attributes, payload, bytes_max=_ANY_SIZE)
        if len(body) > MESSAGE_BYTES_MAX:
            raise TooLargeError(len(body), MESSAGE_BYTES_MAX)
        await self._create_if_asked()
        node = self._node
        while not node._machine.has_room:
            node._raise_if_ended()
            await node._room.wait()
            # Several may have waited.
            if not node._machine.has_room:
                await asyncio.sleep(0)
        future: asyncio.Future[Confirmation] = node._loop.create_future()
        id_ = node._call(lambda m: m.publish(self.name, body, publication=publication))
        node._confirmations[id_] = future
        return Pending(id_, future)

    def subscribe(
        self,
        filter: str | Filter = "true",
        *,
        durable: str | None = None,
        start: Start = "now",
        ack: Literal["next", "manual"] = "next",
        window: int = 1_000,
        on_gap: Literal["raise", "continue"] = "raise",
        checkpoint: str | None = None,
        change_filter: bool = False,
        takeover: bool = False,
    ) -> Opening[StreamSubscription]:
        """Reads what the filter matches; a durable name is remembered with how far it has read."""
        wanted = as_filter(filter)
        flags = AttachFlags.NONE
        if change_filter:
            flags |= AttachFlags.CHANGE_FILTER
        if takeover:
            flags |= AttachFlags.TAKEOVER
        positions: Sequence[WirePosition] = ()
        if checkpoint is not None:
            given = Checkpoint.parse(checkpoint).positions
            positions = [WirePosition(p.pubend, p.tick) for p in given]
        options = SubscriptionOptions(
            streams=(self.name,),
            predicate=predicate_of(wanted),
            durable=durable or "",
            start=_wire_start(start),
            flags=flags,
            positions=tuple(positions),
            window_messages=window,
        )

        async def open_() -> StreamSubscription:
            await self._create_if_asked()
            subscription = StreamSubscription(
                self._node, self.name, durable, ack=ack, on_gap=on_gap, filter=wanted
            )
            await subscription._open(options)
            return subscription

        async def close(subscription: StreamSubscription, error: BaseException | None) -> None:
            await subscription.aclose(is_normal=error is None)

        return Opening("subscribe()", open_, close)

    async def _create_if_asked(self) -> None:
        if self._is_to_create:
            await self._node.create_stream(self.name)
            self._is_to_create = False


class Pending:
    """A publication on its way."""

    def __init__(self, publication: int, future: asyncio.Future[Confirmation]) -> None:
        self.publication: Final = publication
        self.future: Final = future

    def __await__(self) -> Any:
        return self.future.__await__()


class StreamSubscription(AsyncIterator[StreamMessage]):
    """Messages in order; with `ack="next"`, asking for the next acknowledges the one before."""

    def __init__(
        self,
        node: StreamNode,
        stream: str,
        durable: str | None,
        *,
        ack: str,
        on_gap: str,
        filter: Filter,
    ) -> None:
        self.filter: Final = filter
        self.resumed = False
        self._node: Final = node
        self._stream: Final = stream
        self._durable: Final = durable
        self._acks_next: Final = ack == "next"
        self._raises_gaps: Final = on_gap == "raise"
        self._queue: Final[deque[Received | Loss]] = deque()
        self._changed: Final = asyncio.Event()
        self._opened: Final[asyncio.Future[None]] = node._loop.create_future()
        self._error: Exception | None = None
        self._is_ended = False
        self._number = 0
        self._in_hand: list[Position] = []
        self._checkpoint = Checkpoint()
        self._losses: Final[FeedSource[Loss]] = FeedSource(_LOSSES_MAX)
        # Positions, and who waits for them to be stored.
        self._acks: Final[list[tuple[Position, asyncio.Future[None]]]] = []

    @property
    def losses(self) -> Feed[Loss]:
        """Gaps, with `on_gap="continue"`."""
        return self._losses.feed

    def __aiter__(self) -> StreamSubscription:
        return self

    async def __anext__(self) -> StreamMessage:
        if self._acks_next:
            self._acknowledge_in_hand()
        while True:
            item = await self._next_item()
            if isinstance(item, Loss):
                if self._raises_gaps:
                    raise GapError(item, self._durable)
                self._losses.put(item)
                continue
            self._in_hand = [Position(item.pubend, item.tick)]
            return self._message(item)

    async def receive(self, limit: int = 100, *, wait: Duration = 0.0) -> list[StreamMessage]:
        """What is there, at most `limit` messages; waits so long for the first; may be empty."""
        if self._acks_next:
            self._acknowledge_in_hand()
        wait_s = duration_ns("wait", wait) / SECOND
        if not self._queue and wait_s:
            try:
                async with asyncio.timeout(wait_s):
                    await self._wait()
            except TimeoutError:
                return []
        taken: list[StreamMessage] = []
        while self._queue and len(taken) < limit:
            if isinstance(self._queue[0], Loss):
                if taken:
                    break
                loss = self._queue.popleft()
                assert isinstance(loss, Loss)
                if self._raises_gaps:
                    raise GapError(loss, self._durable)
                self._losses.put(loss)
                continue
            item = self._queue.popleft()
            assert isinstance(item, Received)
            taken.append(self._message(item))
        self._in_hand = [message.position for message in taken]
        return taken

    async def aclose(self, *, is_normal: bool = True) -> None:
        """Ends reading; a normal end acknowledges the message in hand."""
        if self._is_ended:
            return
        if is_normal and self._acks_next and not self._node._is_closed:
            positions = self._acknowledge_in_hand()
            if positions and self._node.is_connected:
                try:
                    async with asyncio.timeout(2.0):
                        await self._stored(positions[-1])
                except (TimeoutError, ClosedError):
                    pass
        if not self._node._is_closed and self._node._refused is None:
            self._node._call(lambda m: m.unsubscribe(self._number))
        self._end(None)

    # What the node says

    async def _open(self, options: SubscriptionOptions) -> None:
        self._number = self._node._call(lambda m: m.subscribe(options))
        self._node._subscriptions[self._number] = self
        self._checkpoint = Checkpoint([Position(*each) for each in options.positions])
        await self._opened

    def _on_message(self, fact: Received) -> None:
        self._queue.append(fact)
        self._changed.set()

    def _on_fact(self, fact: Missed | Opened | AckStored | Ended) -> None:
        if isinstance(fact, Opened):
            self.resumed = fact.resumed
            if not self._opened.done():
                self._opened.set_result(None)
        elif isinstance(fact, AckStored):
            stored = dict(fact.positions)
            for position, future in list(self._acks):
                if position.tick <= stored.get(position.pubend, -1):
                    self._acks.remove((position, future))
                    if not future.done():
                        future.set_result(None)
        elif isinstance(fact, Missed):
            now_ns = time_ns()
            self._queue.append(
                Loss(
                    publisher=f"{fact.pubend:016x}",
                    epoch=0,
                    stream=self._stream,
                    first=None,
                    count=fact.messages,
                    fate=Fate.LOST,
                    reason=fact.reason.name.lower(),
                    detected_ns=now_ns,
                    ended_ns=now_ns,
                )
            )
            self._changed.set()
        else:
            error = self._refusal_of(fact.refused)
            if not self._opened.done():
                self._opened.set_exception(error)
            self._end(error)

    def _refusal_of(self, refused: Refused) -> Exception:
        if self._durable is not None and refused.reason in _DURABLE_REASONS:
            return DurableError(refused.text, self._durable, refused.reason)
        return _refusal(refused)

    def _end(self, error: Exception | None) -> None:
        self._is_ended = True
        self._error = error
        self._node._subscriptions.pop(self._number, None)
        for _, future in self._acks:
            if not future.done():
                future.set_exception(ClosedError("the subscription has ended"))
        self._changed.set()

    # How it does it

    async def _next_item(self) -> Received | Loss:
        if not self._queue:
            await self._wait()
        return self._queue.popleft()

    async def _wait(self) -> None:
        while not self._queue:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()

    def _message(self, item: Received) -> StreamMessage:
        position = Position(item.pubend, item.tick)
        self._checkpoint = self._checkpoint.advanced(position)
        if not self._is_ended:
            self._node._call(lambda m: m.take(self._number, 1, len(item.body)))
        return StreamMessage(
            attributes=read_attributes_of(item.body),
            payload=read_payload_of(item.body),
            id=position.message_id,
            fate=Fate.DELIVERED,
            published_ns=item.published_ns,
            received_ns=time_ns(),
            held_ns=0,
            stream=self._stream,
            position=position,
            attempt=item.attempt,
            _read_upto=self._checkpoint,
            _ack=self._ack,
            _fail=self._fail,
        )

    def _acknowledge_in_hand(self) -> list[Position]:
        positions, self._in_hand = self._in_hand, []
        if positions and not self._is_ended:
            # Within a pubend the last says all.
            last = {p.pubend: p for p in positions}
            wire = [WirePosition(p.pubend, p.tick) for p in last.values()]
            self._node._call(lambda m: m.acknowledge(self._number, wire))
        return positions

    async def _ack(self, position: Position) -> None:
        wire = [WirePosition(position.pubend, position.tick)]
        self._node._call(lambda m: m.acknowledge(self._number, wire))
        await self._stored(position)

    async def _stored(self, position: Position) -> None:
        future: asyncio.Future[None] = self._node._loop.create_future()
        self._acks.append((position, future))
        await future

    async def _fail(self, position: Position, reason: str) -> None:
        self._node._call(lambda m: m.fail(self._number, position.pubend, position.tick, reason))


def _refusal(refused: Refused) -> RefusedError:
    return RefusedError(refused.text, refused.reason, refused.address or None)


def _wire_start(start: str | datetime | Position) -> WireStart:
    point = start_point(start, now_ns=time_ns(), of_stream=True)
    if point.kind is StartKind.FIRST:
        return WireStart(WireStartKind.FIRST)
    if point.kind is StartKind.NOW:
        return WireStart(WireStartKind.NOW)
    if point.position is not None:
        return WireStart(WireStartKind.TICK, point.position.tick)
    assert point.time_ns is not None
    return WireStart(WireStartKind.TIME, point.time_ns)
