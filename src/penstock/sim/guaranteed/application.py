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
    Moved,
    NotTaken,
    Opened,
    Received,
    ReceivedMany,
    SubscriptionOptions,
)
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_client import SimClient
from penstock.wire.codec.guaranteed.body import read_attributes_of, write_body
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.subscription import AttachFlags, Position

FIRST: Final = Start(StartKind.FIRST)
NOW: Final = Start(StartKind.NOW)
# What was refused is published again after so long.
AGAIN_NS: Final[Duration] = 500 * MILLISECOND


class Writer:
    """A program that publishes, and knows what was confirmed.

    What is refused is published again later, as another publication. When the program crashes it
    repeats what was not confirmed, under the same ids.
    """

    def __init__(self, network: StreamNetwork, name: str, broker: str) -> None:
        self.client: Final = network.add_client(name, broker, self._on_fact)
        # By publication: its pubend and tick.
        self.confirmed: Final[dict[int, Position]] = {}
        self.refused: Final[list[NotTaken]] = []
        self.published: Final[dict[int, Mapping[str, Value]]] = {}
        self.published_at: Final[dict[int, Instant]] = {}
        # Confirmed again, at another place than before.
        self.contradictions: Final[list[str]] = []
        self._network: Final = network
        self._streams: Final[dict[int, str]] = {}
        # Neither confirmed nor refused, in order.
        self._open: Final[dict[int, None]] = {}
        self._again = 0
        self.client.connect()

    @property
    def unconfirmed(self) -> int:
        """How many publications wait for an answer, or to be published again."""
        return len(self._open) + self._again

    def publish(self, stream: str, attributes: Mapping[str, Value]) -> int:
        """Sends one message; returns its id."""
        body = write_body(attributes, b"")
        id_: int = self.client.call(lambda client: client.publish(stream, body))
        self.published[id_] = attributes
        self.published_at[id_] = self._network.events.now
        self._streams[id_] = stream
        self._open[id_] = None
        return id_

    def crash(self, *, repeats: int = 0) -> None:
        """The program dies and starts anew: it repeats all that is open, and some that is not."""
        self.client.crash()
        old = list(self.confirmed)[-repeats:] if repeats else []
        for id_ in sorted({*old, *self._open}):
            stream, body = self._streams[id_], write_body(self.published[id_], b"")
            self._open[id_] = None
            self.client.machine.publish(stream, body, publication=id_)
        self.client.connect()

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, Confirmed):
            for run in fact.runs:
                for id_, tick in zip(run.ids, run.ticks, strict=True):
                    self._on_confirmed(id_, Position(run.pubend, tick))
        elif isinstance(fact, NotTaken):
            self.refused.append(fact)
            self._open.pop(fact.publication, None)
            self._again += 1
            at = self._network.events.now + AGAIN_NS
            self._network.events.schedule(at, self._publish_again, fact.publication)

    def _on_confirmed(self, id_: int, place: Position) -> None:
        self._open.pop(id_, None)
        before = self.confirmed.setdefault(id_, place)
        if place.tick not in (0, before.tick):
            self.contradictions.append(f"{id_} at {before.tick}, then at {place.tick}")

    def _publish_again(self, id_: int) -> None:
        self._again -= 1
        self.publish(self._streams[id_], self.published[id_])


class ReaderLife:
    """What one life of a reading program saw."""

    def __init__(self, predicate: Predicate) -> None:
        self.predicate: Final = predicate
        self.opened: Opened | None = None
        self.opened_at: Instant | None = None
        # In the order in which they came.
        self.items: Final[list[Received | Missed]] = []
        self.ended: Final[list[Ended]] = []

    @property
    def received(self) -> list[Received]:
        """The messages."""
        return [item for item in self.items if isinstance(item, Received)]

    @property
    def missed(self) -> list[Missed]:
        """The gaps."""
        return [item for item in self.items if isinstance(item, Missed)]


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
        parks: bool = False,
        expire_s: int = 0,
    ) -> None:
        self.client: Final = network.add_client(name, broker, self._on_fact)
        self.stream: Final = stream
        self.predicate = predicate
        self.changes_filter = False
        self.durable: Final = durable
        self.start: Final = start
        self.lives: Final[list[ReaderLife]] = []
        # Stored by the host, by pubend: what lies below never comes again.
        self.stored: Final[dict[int, int]] = {}
        # What came although it was stored.
        self.again: Final[list[Received]] = []
        # All that was published before it may have been skipped by a seek; None while one is under
        # way. After the first seek, what was stored may come again.
        self.skipped_before: Instant | None = 0
        self.was_sought = False
        self.is_paused = False
        self.is_open = False
        self.delivered = 0
        self._network: Final = network
        self.window: Final = window
        # 0: a program that dies often is no reason to stop.
        self.attempts_max: Final = attempts_max
        self.parks: Final = parks
        self.expire_s: Final = expire_s
        # So many messages that come next cannot be dealt with.
        self.to_fail = 0
        self.failures = 0
        self._waiting: Final[deque[Received]] = deque()
        self._subscription = 0
        self.client.connect()

    @property
    def life(self) -> ReaderLife:
        """The present one."""
        return self.lives[-1]

    def open(self, *, flags: AttachFlags = AttachFlags.NONE) -> None:
        """Begins a life: opens the subscription."""
        self.lives.append(ReaderLife(self.predicate))
        self.is_open = True
        self._waiting.clear()
        if self.changes_filter:
            # It may have been changed in a life that the host has not heard of.
            flags |= AttachFlags.CHANGE_FILTER
        if self.parks:
            flags |= AttachFlags.PARK
        options = SubscriptionOptions(
            streams=(self.stream,),
            predicate=self.predicate,
            durable=self.durable,
            start=self.start,
            flags=flags,
            window_messages=self.window,
            attempts_max=self.attempts_max,
            expire_s=self.expire_s,
        )
        self._subscription = self.client.call(lambda client: client.subscribe(options))

    def close(self) -> None:
        """Ends the subscription, in an orderly way."""
        self.is_open = False
        number = self._subscription
        self.client.call(lambda client: client.unsubscribe(number))

    def crash(self) -> None:
        """The program dies and starts anew; what it had not acknowledged comes again."""
        self.client.crash()
        self.client.connect()
        # The host may not have noticed yet that the old connection is gone.
        self.open(flags=AttachFlags.TAKEOVER)

    def begin_seek(self, *, skips: bool) -> None:
        """Somebody moves its cursor, now or later."""
        self.was_sought = True
        if skips:
            self.skipped_before = None

    def settle_skip(self) -> None:
        """From now on nothing more is skipped."""
        if self.skipped_before is None:
            self.skipped_before = self._network.events.now

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

    def _fail(self, message: Received) -> None:
        """Cannot deal with a message: it and all behind it come again, as if they had not come."""
        self.to_fail -= 1
        self.failures += 1
        pubend, tick, number = message.pubend, message.tick, message.subscription
        items = self.life.items
        items[:] = [
            each
            for each in items
            if each.pubend != pubend
            or (each.tick if isinstance(each, Received) else each.start) < tick
        ]
        self.client.call(lambda client: client.fail(number, pubend, tick, "a test"))

    def attempts(self) -> list[int]:
        """Of all messages of this life, in the order of delivery."""
        return [each.attempt for each in self.life.received]

    def values(self, name: str = "n") -> list[Value]:
        """One attribute of all messages of this life, in the order of delivery."""
        return [read_attributes_of(each.body)[name] for each in self.life.received]

    def _take(self, message: Received) -> None:
        position = Position(message.pubend, message.tick)
        number = message.subscription
        if self.client.machine.is_failed(number, message.pubend):
            # It comes again behind the one that failed.
            self.client.call(lambda client: client.take(number, 1, len(message.body)))
            return
        if self.to_fail:
            self._fail(message)
            self.client.call(lambda client: client.take(number, 1, len(message.body)))
            return
        # Some acknowledgements are awaited, others are stored when it suits the host.
        awaits = message.tick % 3 == 0
        self.client.call(lambda client: client.acknowledge(number, [position], is_awaited=awaits))
        self.client.call(lambda client: client.take(number, 1, len(message.body)))

    def _on_message(self, message: Received) -> None:
        if self.client.machine.is_failed(message.subscription, message.pubend):
            # It was on its way when a message before it failed.
            self._take(message)
            return
        self.life.items.append(message)
        self.delivered += 1
        is_stored = message.tick <= self.stored.get(message.pubend, -1)
        if self.durable and is_stored and not self.was_sought:
            self.again.append(message)
        if self.is_paused:
            self._waiting.append(message)
        else:
            self._take(message)

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, ReceivedMany):
            for message in fact.messages:
                self._on_message(message)
        elif isinstance(fact, Missed):
            if self.client.machine.is_failed(fact.subscription, fact.pubend):
                return
            self.life.items.append(fact)
            position = Position(fact.pubend, fact.stop - 1)
            number = fact.subscription
            self.client.call(lambda client: client.acknowledge(number, [position]))
        elif isinstance(fact, Opened):
            self.life.opened, self.life.opened_at = fact, self._network.events.now
            if not fact.resumed:
                # The name is new, or another than before.
                self.stored.clear()
        elif isinstance(fact, Moved):
            # What it gets now may lie before what it had: as if it began anew.
            before = self.life
            self.lives.append(ReaderLife(self.predicate))
            self.life.opened, self.life.opened_at = before.opened, before.opened_at
            self._waiting.clear()
            self.stored.clear()
        elif isinstance(fact, Ended):
            self.life.ended.append(fact)
        elif isinstance(fact, AckStored):
            for pubend, tick in fact.positions:
                self.stored[pubend] = max(tick, self.stored.get(pubend, 0))
