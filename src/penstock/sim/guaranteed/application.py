"""Programs that use guaranteed streams in a simulated network, and remember all they were told."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.value import Value
from penstock.guaranteed.client import (
    AckStored,
    ClientFact,
    Confirmed,
    Ended,
    Missed,
    NotTaken,
    Opened,
    Received,
    SubscriptionOptions,
)
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.sim.guaranteed.network import SimClient, StreamNetwork
from penstock.wire.codec.guaranteed.body import read_attributes_of, write_body
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.subscription import AttachFlags, Position

FIRST: Final = Start(StartKind.FIRST)
NOW: Final = Start(StartKind.NOW)


class Writer:
    """A program that publishes, and knows what was confirmed."""

    def __init__(self, network: StreamNetwork, name: str, broker: str) -> None:
        self.client: Final = network.add_client(name, broker, self._on_fact)
        # By publication: its pubend and tick.
        self.confirmed: Final[dict[int, Position]] = {}
        self.refused: Final[list[NotTaken]] = []
        self.published: Final[dict[int, Mapping[str, Value]]] = {}
        self.client.connect()

    def publish(self, stream: str, attributes: Mapping[str, Value]) -> int:
        """Sends one message; returns its id."""
        body = write_body(attributes, b"")
        id_: int = self.client.call(lambda client: client.publish(stream, body))
        self.published[id_] = attributes
        return id_

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, Confirmed):
            assert fact.publication not in self.confirmed, "confirmed twice"
            self.confirmed[fact.publication] = Position(fact.stored.pubend, fact.stored.tick)
        elif isinstance(fact, NotTaken):
            self.refused.append(fact)


class ReaderLife:
    """What one life of a reading program saw."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.received: Final[list[Received]] = []
        self.missed: Final[list[Missed]] = []
        self.ended: Final[list[Ended]] = []


class ReadingProgram:
    """A program with one subscription, which takes messages at its own pace."""

    def __init__(
        self,
        network: StreamNetwork,
        name: str,
        broker: str,
        *,
        stream: str,
        predicate: Predicate = EVERYTHING,
        durable: str = "",
        start: Start = FIRST,
        window: int = 1_000,
        attempts_max: int = 0,
        expire_s: int = 0,
    ) -> None:
        self.client: Final = network.add_client(name, broker, self._on_fact)
        self.stream: Final = stream
        self.predicate = predicate
        self.durable: Final = durable
        self.start: Final = start
        self.lives: Final[list[ReaderLife]] = []
        # Stored by the host, by pubend: what lies below never comes again.
        self.stored: Final[dict[int, int]] = {}
        self.is_paused = False
        self._window: Final = window
        # 0: a program that dies often is no reason to stop.
        self._attempts_max: Final = attempts_max
        self._expire_s: Final = expire_s
        self._waiting: Final[deque[Received]] = deque()
        self._subscription = 0
        self.client.connect()

    @property
    def life(self) -> ReaderLife:
        """The present one."""
        return self.lives[-1]

    def open(self, *, flags: AttachFlags = AttachFlags.NONE) -> None:
        """Begins a life: opens the subscription."""
        self.lives.append(ReaderLife())
        self._waiting.clear()
        options = SubscriptionOptions(
            streams=(self.stream,),
            predicate=self.predicate,
            durable=self.durable,
            start=self.start,
            flags=flags,
            window_messages=self._window,
            attempts_max=self._attempts_max,
            expire_s=self._expire_s,
        )
        self._subscription = self.client.call(lambda client: client.subscribe(options))

    def close(self) -> None:
        """Ends the subscription, in an orderly way."""
        number = self._subscription
        self.client.call(lambda client: client.unsubscribe(number))

    def crash(self) -> None:
        """The program dies and starts anew; what it had not acknowledged comes again."""
        self.client.crash()
        self.client.connect()
        # The host may not have noticed yet that the old connection is gone.
        self.open(flags=AttachFlags.TAKEOVER)

    def resume(self) -> None:
        """Takes what has waited."""
        self.is_paused = False
        while self._waiting and not self.is_paused:
            self._take(self._waiting.popleft())

    def fail(self, reason: str = "") -> None:
        """Cannot deal with the first message that waits."""
        message, messages = self._waiting[0], len(self._waiting)
        size_bytes = sum(len(each.body) for each in self._waiting)
        self._waiting.clear()
        number = message.subscription
        self.client.call(lambda client: client.fail(number, message.pubend, message.tick, reason))
        self.client.call(lambda client: client.take(number, messages, size_bytes))

    def attempts(self) -> list[int]:
        """Of all messages of this life, in the order of delivery."""
        return [each.attempt for each in self.life.received]

    def values(self, name: str = "n") -> list[Value]:
        """One attribute of all messages of this life, in the order of delivery."""
        return [read_attributes_of(each.body)[name] for each in self.life.received]

    def _take(self, message: Received) -> None:
        position = Position(message.pubend, message.tick)
        number = message.subscription
        self.client.call(lambda client: client.acknowledge(number, [position]))
        self.client.call(lambda client: client.take(number, 1, len(message.body)))

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, Received):
            self.life.received.append(fact)
            if self.is_paused:
                self._waiting.append(fact)
            else:
                self._take(fact)
        elif isinstance(fact, Missed):
            self.life.missed.append(fact)
        elif isinstance(fact, Opened):
            self.life.opened = fact
        elif isinstance(fact, Ended):
            self.life.ended.append(fact)
        elif isinstance(fact, AckStored):
            for pubend, tick in fact.positions:
                self.stored[pubend] = max(tick, self.stored.get(pubend, 0))
