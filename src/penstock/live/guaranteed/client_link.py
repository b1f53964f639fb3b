"""One program's way to its broker: the client machine, its connection, and who waits for what.

The machine lives as long as the node; connections come and go below it. Streams and subscriptions
know this class alone, and this class knows them by `SubscriptionEvents`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from time import time_ns
from typing import Any, Final, Protocol

from penstock.api.errors import ClosedError, RefusedError
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
    Moved,
    NotTaken,
    Opened,
    Poisonous,
    Receipted,
    Received,
    ReceivedMany,
    SubscriptionOptions,
    Welcomed,
)
from penstock.kernel.machine import Deliver, Send
from penstock.live.guaranteed.kept_connection import KeptConnection
from penstock.live.guaranteed.pending import Pending, PendingTable
from penstock.live.guaranteed.refusal_errors import refused_error
from penstock.live.net.address import HostPort
from penstock.live.net.frame_connection import AnyFrame
from penstock.wire.frames.guaranteed.client import Answer, Refused
from penstock.wire.frames.guaranteed.subscription import Position


class SubscriptionEvents(Protocol):
    """What a subscription is told."""

    def on_messages(self, messages: list[Received]) -> None:
        """The next messages."""

    def on_fact(self, fact: Missed | Opened | Moved | AckStored | Poisonous) -> None:
        """Anything else."""

    def on_disconnected(self) -> None:
        """The connection is gone; the subscription goes on with the next one."""

    def on_ended(self, why: Refused | Exception | None) -> None:
        """Nothing more will come."""

    async def finish(self) -> None:
        """A normal end: what is in hand is acknowledged."""

    def abandon(self) -> None:
        """Ends without an acknowledgement."""


class ClientLink:
    """What streams and subscriptions need of their node."""

    def __init__(self, addresses: Sequence[HostPort], name: str) -> None:
        self.name: Final = name
        self._loop: Final = asyncio.get_running_loop()
        self._machine: Final = Client(name, time_ns())
        self.pending: Final = PendingTable(self._machine.room)
        self._ended: Exception | None = None
        self._up: Final = asyncio.Event()
        self._down: Final = asyncio.Event()
        self._down.set()
        self._answers: Final[dict[int, asyncio.Future[Answer]]] = {}
        self._subscriptions: Final[dict[int, SubscriptionEvents]] = {}
        # Publications leave together when the program lets others run.
        self._is_draining_soon = False
        # What is to be said then.
        self._soon: Final[list[Callable[[], None]]] = []
        self._connection: Final = KeptConnection(
            addresses,
            on_up=self._on_up,
            on_frames=self._on_frames,
            on_down=self._on_down,
            on_ping=self._on_ping,
        )

    # What it is

    @property
    def address(self) -> str:
        """Where the broker is."""
        return str(self._connection.address)

    @property
    def unresolved(self) -> list[str]:
        """Host names of its addresses that nobody knows."""
        return sorted(self._connection.unresolved)

    @property
    def is_connected(self) -> bool:
        """Whether a broker answers now."""
        return self._machine.is_connected

    @property
    def is_ended(self) -> bool:
        """Whether it was closed or refused."""
        return self._ended is not None

    @property
    def reconnects(self) -> int:
        """How often a connection was lost."""
        return self._connection.reconnects

    @property
    def subscriptions(self) -> list[SubscriptionEvents]:
        """Those that are open."""
        return list(self._subscriptions.values())

    def raise_if_ended(self) -> None:
        """Raises what it was ended by."""
        if self._ended is not None:
            raise self._ended

    async def wait_connected(self) -> None:
        """Waits until a broker answers; raises if it has refused this node."""
        await self._up.wait()
        self.raise_if_ended()

    async def wait_disconnected(self) -> None:
        """Waits until the connection is gone."""
        await self._down.wait()

    # Publishing

    def publish(self, stream: str, body: bytes, publication: int | None, receipt: bool) -> Pending:
        """Sends a message; whoever calls this has waited for room."""
        if self._ended is not None:
            raise self._ended
        machine = self._machine
        id_ = machine.publish(stream, body, publication=publication, receipt=receipt)
        pending = self.pending.add(stream, id_)
        if machine.is_worth_sending():
            self._drain()
            self._connection.flush()
        elif not self._is_draining_soon:
            self._is_draining_soon = True
            self._loop.call_soon(self._drain)
        return pending

    # Subscriptions

    def subscribe(self, options: SubscriptionOptions, events: SubscriptionEvents) -> int:
        """Opens a subscription; returns its number."""
        self.raise_if_ended()
        number = self._machine.subscribe(options)
        self._subscriptions[number] = events
        self._drain()
        return number

    def acknowledge(
        self, subscription: int, positions: Sequence[Position], *, is_awaited: bool = True
    ) -> bool:
        """Everything up to these positions has been dealt with; False if none of them counts."""
        counts = self._machine.acknowledge(subscription, positions, is_awaited=is_awaited)
        self._drain()
        return counts

    def is_retried(self, subscription: int, pubend: int, tick: int) -> bool:
        """Whether a message was parked and has come once more."""
        return self._machine.is_retried(subscription, Position(pubend, tick))

    def take(self, subscription: int, messages: int, size_bytes: int) -> None:
        """The host may send so much more; it is told at once, to keep messages flowing."""
        self._machine.take(subscription, messages, size_bytes)
        self._drain()
        self._connection.flush()

    def fail(self, subscription: int, pubend: int, tick: int, reason: str) -> None:
        """A message could not be dealt with."""
        self.raise_if_ended()
        self._machine.fail(subscription, pubend, tick, reason)
        self._drain()

    def unsubscribe(self, subscription: int, *, is_clean: bool) -> None:
        """Ends a subscription; unless it is a clean end, what was handed out counts as tried."""
        self._subscriptions.pop(subscription, None)
        if self._ended is None:
            self._machine.unsubscribe(subscription, is_clean=is_clean)
            self._drain()

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Calls back once, when the program lets others run: what it says leaves together."""
        if not self._soon:
            self._loop.call_soon(self._run_soon)
        self._soon.append(callback)

    # Requests

    async def request(self, verb: str, arguments: Mapping[str, Any]) -> bytes:
        """Asks the broker; returns JSON. Without a connection it waits for one."""
        self.raise_if_ended()
        number = self._machine.ask(verb, json.dumps(arguments).encode())
        future = self._answers[number] = self._loop.create_future()
        self._drain()
        try:
            answer: Answer = await future
            return answer.result
        finally:
            del self._answers[number]
            self._machine.withdraw(number)

    # The end

    def close(self) -> None:
        """Ends it; what was said before still leaves."""
        self._end(ClosedError("this node is closed: connect again"), "the node was closed")
        self._connection.close()

    def _end(self, error: Exception, why: str) -> None:
        if self._ended is not None:
            return
        self._run_soon()
        self._ended = error
        is_closed = isinstance(error, ClosedError)
        for subscription in self.subscriptions:
            subscription.on_ended(None if is_closed else error)
        self._subscriptions.clear()
        self.pending.end(why)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(error)
        self._up.set()
        self._down.set()

    # The machine and its connection

    def _run_soon(self) -> None:
        callbacks = self._soon.copy()
        self._soon.clear()
        for callback in callbacks:
            callback()

    def _on_up(self) -> None:
        self._machine.connection_up()
        self._drain()

    def _on_down(self) -> None:
        was_connected = self._machine.is_connected
        self._machine.connection_down()
        if self._ended is None:
            self._up.clear()
            self._down.set()
            if was_connected:
                for subscription in self.subscriptions:
                    subscription.on_disconnected()

    def _on_ping(self) -> None:
        if self._machine.is_connected:
            self._machine.ping()
            self._drain()

    def _on_frames(self, frames: list[AnyFrame]) -> None:
        receive = self._machine.receive
        for frame in frames:
            receive(frame, via=BROKER, now=0)  # type: ignore[arg-type]
        self._drain()

    def _drain(self) -> None:
        self._is_draining_soon = False
        poll, connection = self._machine.poll, self._connection
        while (output := poll()) is not None:
            if type(output) is Send:
                connection.put(output.frame)
            else:
                assert type(output) is Deliver
                fact = output.item
                if type(fact) is ReceivedMany:
                    self._subscriptions[fact.subscription].on_messages(fact.messages)
                else:
                    self._on_fact(fact)  # type: ignore[arg-type]
        connection.flush_soon()

    def _on_fact(self, fact: ClientFact) -> None:
        if isinstance(fact, Confirmed):
            self.pending.confirm(fact.runs)
        elif isinstance(fact, Receipted):
            self.pending.receipt(fact.runs)
        elif isinstance(fact, NotTaken):
            self.pending.refuse(fact.publication, refused_error(fact.refused))
        elif isinstance(fact, Missed | Opened | Moved | AckStored | Poisonous):
            subscription = self._subscriptions.get(fact.subscription)
            if subscription is not None:
                subscription.on_fact(fact)
        elif isinstance(fact, Ended):
            subscription = self._subscriptions.pop(fact.subscription, None)
            if subscription is not None:
                subscription.on_ended(fact.refused)
        elif isinstance(fact, Answered):
            self._on_answer(fact)
        elif isinstance(fact, Welcomed):
            self._connection.answered()
            self._down.clear()
            self._up.set()
        else:
            assert isinstance(fact, Fenced)
            text = f"broker {self.address} refused: {fact.refused.text}"
            self._end(RefusedError(text, fact.refused.reason), f"the {text}")
            self._connection.close()

    def _on_answer(self, fact: Answered) -> None:
        future = self._answers.get(fact.request)
        if future is None or future.done():
            return
        if isinstance(fact.answer, Refused):
            future.set_exception(refused_error(fact.answer))
        else:
            future.set_result(fact.answer)
