"""Programs that load a network of guaranteed streams: writers at a steady rate, prompt readers.

They count what was confirmed and delivered, and remember no messages: a run has hundreds of
thousands. Messages are of ten kinds, in turn, so that a filter wants an exact share of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.client import (
    ClientFact,
    Confirmed,
    Ended,
    Missed,
    NotTaken,
    ReceivedMany,
    SubscriptionOptions,
)
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_broker import size_of
from penstock.sim.guaranteed.sim_client import SimClient
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.knowledge import Data
from penstock.wire.frames.guaranteed.subscription import Position

KINDS: Final = 10
# From one message to the next; no divisor of `KINDS`, so that those of a filter are spread out.
_STRIDE: Final = 3
_ATTRIBUTE: Final = "kind"
_ACKNOWLEDGED_TOGETHER: Final = 10
_FIRST: Final = Start(StartKind.FIRST)


def bodies_of(message_bytes: int) -> tuple[bytes, ...]:
    """A body of each kind, with which DATA takes so many bytes on a link."""
    bare = [write_body({_ATTRIBUTE: kind}) for kind in range(KINDS)]
    lacking = message_bytes - max(
        size_of(Data(pubend=0, start=0, tick=0, published_ns=0, body=body)) for body in bare
    )
    if lacking < 0:
        raise UsageError(f"a message takes at least {message_bytes - lacking} bytes on a link")
    return tuple(write_body({_ATTRIBUTE: kind}, bytes(lacking)) for kind in range(KINDS))


class WantedKinds:
    """So many kinds of messages, from one on; behind the last kind the first one follows."""

    def __init__(self, count: int, *, first: int = 0) -> None:
        self._first: Final = first
        self._stop: Final = first + count

    def count(self, by_kind: Sequence[int]) -> int:
        """How many messages are wanted, of so many of each kind."""
        return sum(by_kind[kind % KINDS] for kind in range(self._first, self._stop))

    @property
    def predicate(self) -> Predicate:
        """The filter for them."""
        first, stop = self._first, self._stop
        if stop - first == KINDS:
            return EVERYTHING
        if stop <= KINDS:
            return parse(f"{_ATTRIBUTE} >= {first} and {_ATTRIBUTE} < {stop}")
        return parse(f"{_ATTRIBUTE} >= {first} or {_ATTRIBUTE} < {stop - KINDS}")


class SteadyWriter:
    """Publishes to one stream; the time between two messages varies evenly about its mean.

    While a second's worth of messages is not confirmed it publishes nothing, and does not make up
    for it later.
    """

    def __init__(
        self,
        network: StreamNetwork,
        name: str,
        broker: str,
        *,
        stream: str,
        bodies: tuple[bytes, ...],
        rate: float,
        # How far from the mean the time between two messages may be, as a share of it.
        spread: float,
        rng: Random,
    ) -> None:
        self.stream: Final = stream
        self.client: Final = network.add_client(name, broker, self._on_fact)
        # Messages that are on disk, by kind.
        self.confirmed: Final = [0] * KINDS
        # Messages that it has published, or would have if it had not been held up.
        self.demanded = 0
        self._events: Final = network.events
        self._bodies: Final = bodies
        self._low_ns: Final[Duration] = max(1, round(SECOND / rate * (1 - spread)))
        self._high_ns: Final[Duration] = max(1, round(SECOND / rate * (1 + spread)))
        self._open_max: Final = max(1, round(rate))
        self._open = 0
        self._rng: Final = rng
        self._until: Instant = 0
        self._published = 0
        self._first_id = 0
        self.client.connect()

    def start(self, at: Instant, *, until: Instant) -> None:
        """Publishes from one instant up to another."""
        self._until = until
        # Writers are not in step.
        self._events.schedule(at + self._rng.randrange(self._high_ns), self._publish)

    def _publish(self) -> None:
        now = self._events.now
        if now >= self._until:
            return
        self.demanded += 1
        if self._open < self._open_max:
            body = self._bodies[self._published * _STRIDE % KINDS]
            id_ = self.client.call(lambda client: client.publish(self.stream, body))
            if not self._published:
                self._first_id = id_
            self._published += 1
            self._open += 1
        gap_ns = self._rng.randint(self._low_ns, self._high_ns)
        self._events.schedule(now + gap_ns, self._publish)

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        assert not isinstance(fact, NotTaken | Ended), f"{self.client.name}: {fact}"
        if isinstance(fact, Confirmed):
            for run in fact.runs:
                self._open -= run.messages
                for id_ in run.ids:
                    self.confirmed[(id_ - self._first_id) * _STRIDE % KINDS] += 1


class PromptReader:
    """Reads streams under a durable name, and acknowledges messages by tens."""

    def __init__(
        self,
        network: StreamNetwork,
        name: str,
        broker: str,
        *,
        streams: tuple[str, ...],
        wanted: WantedKinds,
    ) -> None:
        self.client: Final = network.add_client(name, broker, self._on_fact)
        self.wanted: Final = wanted
        # Messages, by pubend.
        self.delivered: Final[dict[int, int]] = {}
        # How far it has read what it has not acknowledged, by pubend; and how much that is.
        self._read: Final[dict[int, int]] = {}
        self._unacknowledged = 0
        self._options: Final = SubscriptionOptions(
            streams=streams,
            predicate=wanted.predicate,
            durable=name,
            start=_FIRST,
        )
        self.client.connect()

    def open(self) -> None:
        """Begins to read."""
        self.client.call(lambda client: client.subscribe(self._options))

    def _on_fact(self, client: SimClient, fact: ClientFact) -> None:
        assert not isinstance(fact, Missed | Ended), f"{client.name}: {fact}"
        if not isinstance(fact, ReceivedMany):
            return
        number, messages, delivered = fact.subscription, fact.messages, self.delivered
        read = self._read
        for message in messages:
            pubend = message.pubend
            read[pubend] = message.tick
            delivered[pubend] = delivered.get(pubend, 0) + 1
        machine = client.machine
        self._unacknowledged += len(messages)
        if self._unacknowledged >= _ACKNOWLEDGED_TOGETHER:
            positions = [Position(*each) for each in read.items()]
            machine.acknowledge(number, positions, is_awaited=False)
            self._unacknowledged = 0
            read.clear()
        machine.take(number, len(messages), sum(len(each.body) for each in messages))
