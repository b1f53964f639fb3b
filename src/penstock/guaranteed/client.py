"""A client of guaranteed streams: publishes until it is confirmed, and reads on where it was.

The driver opens connections, one after another; the client repeats on each what the last one has
left open. Publications leave in their order, within credit; a subscription goes on behind the last
message that it handed over, whatever the host remembers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Output, Port, Send
from penstock.wire.frames.guaranteed.base import ClientFrame, GapReason, Start
from penstock.wire.frames.guaranteed.client import (
    Answer,
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    Refused,
    RefusedKind,
    Welcome,
)
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, Stored
from penstock.wire.frames.guaranteed.subscription import (
    Acked,
    Attach,
    Attached,
    AttachFlags,
    ClientAck,
    Detach,
    Fail,
    GapNotice,
    HandOut,
    Position,
)

# The only port of a client.
BROKER: Final[Port] = "broker"


# What the application is told


class Confirmed(msgspec.Struct, frozen=True):
    """A publication is on disk."""

    publication: int
    stored: Stored


class NotTaken(msgspec.Struct, frozen=True):
    """The broker has refused a publication; it may be repeated later."""

    publication: int
    refused: Refused


class Received(msgspec.Struct, frozen=True):
    """The next message of a subscription."""

    subscription: int
    pubend: int
    tick: int
    published_ns: int
    attempt: int
    body: bytes


class Missed(msgspec.Struct, frozen=True):
    """Messages that a subscription wanted are gone, at most so many."""

    subscription: int
    pubend: int
    start: int
    stop: int
    reason: GapReason
    messages: int


class Opened(msgspec.Struct, frozen=True):
    """A subscription is open: what is published from now on will come."""

    subscription: int
    resumed: bool
    positions: tuple[Position, ...]


class Ended(msgspec.Struct, frozen=True):
    """A subscription was refused or taken over."""

    subscription: int
    refused: Refused


class AckStored(msgspec.Struct, frozen=True):
    """The host has stored these positions."""

    subscription: int
    positions: tuple[Position, ...]


class Answered(msgspec.Struct, frozen=True):
    """The answer to a request: JSON, or why not."""

    request: int
    answer: Answer | Refused


class Fenced(msgspec.Struct, frozen=True):
    """The broker has refused this connection."""

    refused: Refused


ClientFact: TypeAlias = (
    Confirmed | NotTaken | Received | Missed | Opened | Ended | AckStored | Answered | Fenced
)


class SubscriptionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to read, and how."""

    streams: tuple[str, ...]
    predicate: Predicate
    durable: str = ""
    start: Start
    flags: AttachFlags = AttachFlags.NONE
    attempts_max: int = 5
    expire_s: int = 0
    # Where to go on, as a checkpoint of the application says.
    positions: tuple[Position, ...] = ()
    window_messages: int = 1_000
    window_bytes: int = 4_000_000


class _Subscription:
    """A subscription of this client, across connections."""

    def __init__(self, options: SubscriptionOptions) -> None:
        self.options: Final = options
        # The last tick that was handed over, by pubend.
        self.positions: Final[dict[int, int]] = dict(options.positions)
        self.was_open = False
        # ATTACH has been sent and not answered: an ATTACHED without it says where reading goes on.
        self.is_attaching = False
        # By pubend: a message that failed. All that comes before the host has heard of it is old.
        self.failed: Final[dict[int, Fail]] = {}
        # A checkpoint of the application says what it has dealt with.
        self.acknowledged: Final[dict[int, int]] = dict(options.positions)
        # Parked messages that came once more, below the position.
        self.retried: Final[dict[Position, None]] = {}
        # Handed over since the last CREDIT.
        self.taken_messages = 0
        self.taken_bytes = 0


class _Publication(msgspec.Struct, frozen=True, gc=False):
    stream: str
    body: bytes


class Client:
    """One client, as a machine with one port."""

    def __init__(self, publisher: str, life: int) -> None:
        self.publisher: Final = publisher
        self.life: Final = life
        self.is_connected = False
        self._outputs: Final[deque[Output[ClientFrame]]] = deque()
        # Not confirmed yet, in order; those from `_unsent` on have not left on this connection.
        self._publications: Final[dict[int, _Publication]] = {}
        self._unsent: Final[deque[int]] = deque()
        self._last_id = life
        self._window_messages = 0
        self._window_bytes = 0
        self._in_flight: Final[dict[int, int]] = {}
        self._in_flight_bytes = 0
        self._subscriptions: Final[dict[int, _Subscription]] = {}
        self._last_number = 0
        self._requests: Final[dict[int, Ask]] = {}

    @property
    def unconfirmed(self) -> int:
        """How many publications are not confirmed."""
        return len(self._publications)

    @property
    def has_room(self) -> bool:
        """Whether one more publication would leave at once."""
        return not self._unsent and len(self._in_flight) < max(1, self._window_messages)

    # What the application does

    def publish(self, stream: str, body: bytes, *, publication: int | None = None) -> int:
        """Sends a message until it is confirmed; returns its id."""
        id_ = self._last_id + 1 if publication is None else publication
        self._last_id = max(self._last_id, id_)
        self._publications[id_] = _Publication(stream, body)
        self._unsent.append(id_)
        self._send_publications()
        return id_

    def subscribe(self, options: SubscriptionOptions) -> int:
        """Opens a subscription, now or when there is a connection; returns its number."""
        self._last_number += 1
        self._subscriptions[self._last_number] = _Subscription(options)
        if self.is_connected:
            self._attach(self._last_number)
        return self._last_number

    def acknowledge(self, subscription: int, positions: Sequence[Position]) -> None:
        """Everything up to these positions has been dealt with."""
        own = self._subscriptions.get(subscription)
        if own is None:
            return
        for position in positions:
            if position in own.retried:
                del own.retried[position]
            else:
                pubend, tick = position
                own.acknowledged[pubend] = max(tick, own.acknowledged.get(pubend, 0))
        if self.is_connected and own.was_open:
            self._send(ClientAck(subscription=subscription, positions=tuple(positions)))

    def take(self, subscription: int, messages: int, size_bytes: int) -> None:
        """The application has taken so much: the host may send as much again."""
        own = self._subscriptions.get(subscription)
        if own is None:
            return
        own.taken_messages += messages
        own.taken_bytes += size_bytes
        options = own.options
        if (
            2 * own.taken_messages >= options.window_messages
            or 2 * own.taken_bytes >= options.window_bytes
        ):
            self._grant(subscription, own.taken_messages, own.taken_bytes)
            own.taken_messages = own.taken_bytes = 0

    def fail(self, subscription: int, pubend: int, tick: int, reason: str) -> None:
        """The application could not deal with a message: it and all behind it come again later."""
        own = self._subscriptions.get(subscription)
        if own is None:
            return
        failure = Fail(subscription=subscription, pubend=pubend, tick=tick, reason=reason)
        if Position(pubend, tick) in own.retried:
            del own.retried[Position(pubend, tick)]
        else:
            # Repeated on the next connection, until the host says where it goes on.
            own.failed[pubend] = failure
        if self.is_connected and own.was_open and not own.is_attaching:
            self._send(failure)

    def unsubscribe(self, subscription: int) -> None:
        """Ends a subscription; a durable one can be taken up again."""
        if self._subscriptions.pop(subscription, None) is not None and self.is_connected:
            self._send(Detach(subscription=subscription))

    def ask(self, verb: str, arguments: bytes) -> int:
        """Sends a request; returns its number."""
        self._last_number += 1
        request = Ask(number=self._last_number, verb=verb, arguments=arguments)
        self._requests[self._last_number] = request
        if self.is_connected:
            self._send(request)
        return self._last_number

    # Connections

    def connection_up(self) -> None:
        """There is a new connection: says who it is."""
        self._outputs.append(Send(BROKER, Connect(publisher=self.publisher, life=self.life)))

    def connection_down(self) -> None:
        """The connection is gone; all that is open is repeated on the next."""
        self.is_connected = False
        told = [output for output in self._outputs if type(output) is Deliver]
        self._outputs.clear()
        self._outputs.extend(told)
        self._in_flight.clear()
        self._in_flight_bytes = 0

    # The shape of every machine

    def receive(self, frame: ClientFrame, *, via: Port, now: Instant) -> None:  # noqa: ARG002
        """A frame of the broker."""
        if isinstance(frame, HandOut):
            self._on_message(frame)
        elif isinstance(frame, Confirm):
            self._on_confirm(frame)
        elif isinstance(frame, GapNotice):
            self._on_gap(frame)
        elif isinstance(frame, Welcome):
            self._on_welcome()
        elif isinstance(frame, Credit):
            if frame.kind is CreditKind.STREAM:
                self._window_messages, self._window_bytes = frame.messages, frame.size_bytes
                self._send_publications()
        elif isinstance(frame, Attached):
            self._on_attached(frame)
        elif isinstance(frame, Acked):
            self._tell(AckStored(frame.subscription, frame.positions))
        elif isinstance(frame, Answer):
            if self._requests.pop(frame.number, None) is not None:
                self._tell(Answered(frame.number, frame))
        elif isinstance(frame, Refused):
            self._on_refused(frame)

    def wake(self, *, now: Instant) -> None:
        """It has no timers: the driver decides when to connect and when a connection is dead."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Output[ClientFrame] | None:
        """The next frame, or the next thing for the application."""
        return self._outputs.popleft() if self._outputs else None

    def ping(self) -> None:
        """Shows the broker that the client is there."""
        self._send(ClientPing())

    # How it does it

    def _on_welcome(self) -> None:
        self.is_connected = True
        self._unsent.clear()
        self._unsent.extend(self._publications)
        for number in self._subscriptions:
            self._attach(number)
        for request in self._requests.values():
            self._send(request)

    def _attach(self, number: int) -> None:
        own = self._subscriptions[number]
        options = own.options
        # Whoever was here before on its behalf is an older connection of this client.
        flags = options.flags | AttachFlags.TAKEOVER if own.was_open else options.flags
        self._send(
            Attach(
                subscription=number,
                durable=options.durable,
                streams=options.streams,
                predicate=options.predicate,
                start=options.start,
                flags=flags,
                attempts_max=options.attempts_max,
                expire_s=options.expire_s,
                positions=tuple(Position(*each) for each in own.positions.items()),
            )
        )
        own.is_attaching = True
        own.taken_messages = own.taken_bytes = 0
        self._grant(number, options.window_messages, options.window_bytes)

    def _grant(self, number: int, messages: int, size_bytes: int) -> None:
        if self.is_connected:
            self._send(
                Credit(
                    kind=CreditKind.SUBSCRIPTION,
                    number=number,
                    messages=messages,
                    size_bytes=size_bytes,
                )
            )

    def _send_publications(self) -> None:
        while self._unsent and self.is_connected:
            id_ = self._unsent[0]
            publication = self._publications[id_]
            size_bytes = len(publication.body)
            if self._in_flight and (
                len(self._in_flight) >= self._window_messages
                or self._in_flight_bytes + size_bytes > self._window_bytes
            ):
                return
            self._unsent.popleft()
            self._in_flight[id_] = size_bytes
            self._in_flight_bytes += size_bytes
            self._send(Publish(stream=publication.stream, id=id_, body=publication.body))

    def _on_confirm(self, frame: Confirm) -> None:
        for id_, stored in zip(frame.ids, frame.stored, strict=True):
            self._in_flight_bytes -= self._in_flight.pop(id_, 0)
            if self._publications.pop(id_, None) is not None:
                self._tell(Confirmed(id_, stored))
        self._send_publications()

    def _on_message(self, frame: HandOut) -> None:
        own = self._subscriptions.get(frame.subscription)
        if own is None:
            return
        if frame.pubend in own.failed:
            self.take(frame.subscription, 1, len(frame.body))
            return
        if frame.tick > own.positions.get(frame.pubend, -1):
            own.positions[frame.pubend] = frame.tick
        elif frame.attempt > 1:
            own.retried[Position(frame.pubend, frame.tick)] = None
        else:
            return
        self._tell(
            Received(
                frame.subscription,
                frame.pubend,
                frame.tick,
                frame.published_ns,
                frame.attempt,
                frame.body,
            )
        )

    def _on_gap(self, frame: GapNotice) -> None:
        own = self._subscriptions.get(frame.subscription)
        if own is None or frame.pubend in own.failed:
            return
        if frame.stop - 1 <= own.positions.get(frame.pubend, -1):
            return
        start = max(frame.start, own.positions.get(frame.pubend, -1) + 1)
        own.positions[frame.pubend] = frame.stop - 1
        self._tell(
            Missed(
                frame.subscription, frame.pubend, start, frame.stop, frame.reason, frame.messages
            )
        )

    def _on_attached(self, frame: Attached) -> None:
        own = self._subscriptions.get(frame.subscription)
        if own is None:
            return
        if not own.is_attaching:
            # A message has failed, or somebody has moved the cursor.
            if own.failed:
                del own.failed[next(iter(own.failed))]
            own.positions.update(frame.positions)
            return
        own.is_attaching = False
        for pubend, tick in frame.positions:
            own.positions.setdefault(pubend, tick)
        if not own.was_open:
            own.was_open = True
            self._tell(Opened(frame.subscription, frame.resumed, frame.positions))
        if own.acknowledged:
            # What was acknowledged while there was no connection.
            positions = tuple(Position(*each) for each in own.acknowledged.items())
            self._send(ClientAck(subscription=frame.subscription, positions=positions))
        for failure in own.failed.values():
            self._send(failure)

    def _on_refused(self, frame: Refused) -> None:
        if frame.kind is RefusedKind.PUBLICATION:
            self._in_flight_bytes -= self._in_flight.pop(frame.number, 0)
            if self._publications.pop(frame.number, None) is not None:
                self._tell(NotTaken(frame.number, frame))
            self._send_publications()
        elif frame.kind is RefusedKind.SUBSCRIPTION:
            if self._subscriptions.pop(frame.number, None) is not None:
                self._tell(Ended(frame.number, frame))
        elif frame.kind is RefusedKind.REQUEST:
            if self._requests.pop(frame.number, None) is not None:
                self._tell(Answered(frame.number, frame))
        else:
            self._tell(Fenced(frame))

    def _tell(self, fact: ClientFact) -> None:
        self._outputs.append(Deliver(fact))

    def _send(self, frame: ClientFrame) -> None:
        self._outputs.append(Send(BROKER, frame))
