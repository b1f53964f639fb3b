"""A client of guaranteed streams: publishes until it is confirmed, and reads on where it was.

The driver opens connections, one after another; the client repeats on each what the last one has
left open. Publications leave in their order, within credit; a subscription goes on behind the last
message that it handed over, whatever the host remembers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from penstock.guaranteed.client.facts import (
    AckStored,
    Answered,
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
    ReceivedMany,
    Welcomed,
)
from penstock.guaranteed.client.publications import Publications
from penstock.guaranteed.client.subscription import ClientSubscription, SubscriptionOptions
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Output, Port, Send
from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import ClientFrame
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
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import Confirm
from penstock.wire.frames.guaranteed.receipt import Receipt
from penstock.wire.frames.guaranteed.subscription import (
    Attached,
    Detach,
    GapNotice,
    HandOut,
    Position,
)

# The only port of a client.
BROKER: Final[Port] = "broker"
# The word of a refusal after which a client comes again, without positions of its own.
MOVED: Final = "moved"
# A request after which so many connections were lost without an answer is not sent again: it may be
# what ends them.
_REQUEST_SENDS_MAX: Final = 3


class Client:
    """One client, as a machine with one port."""

    def __init__(self, publisher: str, life: int) -> None:
        self.publisher: Final = publisher
        self.life: Final = life
        self.is_connected = False
        self._outputs: Final[deque[Output[ClientFrame]]] = deque()
        self._publications: Final = Publications(life)
        # How many more publications it takes: as many as the broker has credit for.
        self.room: Final = self._publications.room
        # Whether what was published should leave now, and not wait for more.
        self.is_worth_sending: Final = self._publications.is_worth_sending
        self._subscriptions: Final[dict[int, ClientSubscription]] = {}
        self._last_number = 0
        self._requests: Final[dict[int, Ask]] = {}
        # On how many connections a request has left.
        self._request_sends: Final[dict[int, int]] = {}

    @property
    def unconfirmed(self) -> int:
        """How many publications are not confirmed."""
        return len(self._publications)

    # What the application does

    def publish(
        self, stream: str, body: bytes, *, publication: int | None = None, receipt: bool = False
    ) -> int:
        """Sends a message until it is confirmed; returns its id.

        With `receipt` the broker also says that it has taken it, before it is on disk. Frames are
        made when they are polled: what was published until then leaves together.
        """
        return self._publications.add(stream, body, publication, receipt)

    def subscribe(self, options: SubscriptionOptions) -> int:
        """Opens a subscription, now or when there is a connection; returns its number."""
        self._last_number += 1
        own = self._subscriptions[self._last_number] = ClientSubscription(
            self._last_number, options
        )
        if self.is_connected:
            self._attach(own)
        return self._last_number

    def acknowledge(
        self, subscription: int, positions: Sequence[Position], *, is_awaited: bool = True
    ) -> bool:
        """Everything up to these positions has been dealt with; False if none of them counts.

        If it is not awaited, the host stores it when it suits, and does not say so.
        """
        own = self._subscriptions.get(subscription)
        counted = () if own is None else own.acknowledge(positions)
        if counted and self.is_connected and own is not None and own.was_open:
            self._send(
                ClientAck(subscription=subscription, positions=counted, is_awaited=is_awaited)
            )
        return bool(counted)

    def take(self, subscription: int, messages: int, size_bytes: int) -> None:
        """The application has taken so much: the host may send as much again."""
        own = self._subscriptions.get(subscription)
        due = None if own is None else own.take(messages, size_bytes)
        if due is not None:
            self._grant(subscription, *due)

    def is_retried(self, subscription: int, position: Position) -> bool:
        """Whether a message was parked and has come once more: then it is dealt with by itself."""
        own = self._subscriptions.get(subscription)
        return own is not None and position in own.retried

    def is_failed(self, subscription: int, pubend: int) -> bool:
        """Whether a message of a pubend has failed, and the host has not said where it goes on."""
        own = self._subscriptions.get(subscription)
        return own is not None and pubend in own.failed

    def fail(self, subscription: int, pubend: int, tick: int, reason: str) -> None:
        """The application could not deal with a message: it and all behind it come again later."""
        own = self._subscriptions.get(subscription)
        if own is None:
            return
        failure = own.fail(Position(pubend, tick), reason)
        if self.is_connected and own.was_open and not own.is_attaching:
            self._send(failure)

    def unsubscribe(self, subscription: int, *, is_clean: bool = True) -> None:
        """Ends a subscription; a durable one can be taken up again.

        Unless it is a clean end, the next reader gets what was handed out as another attempt.
        """
        if self._subscriptions.pop(subscription, None) is not None and self.is_connected:
            self._send(Detach(subscription=subscription, is_clean=is_clean))

    def ask(self, verb: str, arguments: bytes) -> int:
        """Sends a request; returns its number."""
        self._last_number += 1
        request = Ask(number=self._last_number, verb=verb, arguments=arguments)
        self._requests[request.number] = request
        if self.is_connected:
            self._send_request(request)
        return request.number

    def withdraw(self, request: int) -> None:
        """Nobody waits for the answer to a request any more: it is not repeated."""
        self._close_request(request)

    # Connections

    def connection_up(self) -> None:
        """There is a new connection: says who it is."""
        self._send(Connect(publisher=self.publisher, life=self.life))

    def connection_down(self) -> None:
        """The connection is gone; all that is open is repeated on the next."""
        self.is_connected = False
        told = [output for output in self._outputs if type(output) is Deliver]
        self._outputs.clear()
        self._outputs.extend(told)
        self._publications.connection_lost()

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
            self._on_welcome(frame)
        elif isinstance(frame, Credit):
            if frame.kind is CreditKind.STREAM:
                self._publications.grant(frame.messages, frame.size_bytes)
        elif isinstance(frame, Attached):
            self._on_attached(frame)
        elif isinstance(frame, Acked):
            self._tell(AckStored(frame.subscription, frame.positions))
        elif isinstance(frame, Answer):
            if self._close_request(frame.number):
                self._tell(Answered(frame.number, frame))
        elif isinstance(frame, Poison):
            if frame.subscription in self._subscriptions:
                self._tell(Poisonous(frame.subscription, frame))
        elif isinstance(frame, Refused):
            self._on_refused(frame)

    def wake(self, *, now: Instant) -> None:
        """It has no timers: the driver decides when to connect and when a connection is dead."""

    def next_wakeup(self) -> Instant | None:
        """Never."""
        return None

    def poll(self) -> Output[ClientFrame] | None:
        """The next frame, or the next thing for the application."""
        if self._outputs:
            return self._outputs.popleft()
        frame = self._publications.next_frame() if self.is_connected else None
        return None if frame is None else Send(BROKER, frame)

    def ping(self) -> None:
        """Shows the broker that the client is there."""
        self._send(ClientPing())

    # How it does it

    def _on_welcome(self, frame: Welcome) -> None:
        self.is_connected = True
        self._tell(Welcomed(frame.broker))
        for own in self._subscriptions.values():
            self._attach(own)
        for request in list(self._requests.values()):
            self._send_request(request)

    def _send_request(self, request: Ask) -> None:
        sends = self._request_sends.get(request.number, 0)
        if sends < _REQUEST_SENDS_MAX:
            self._request_sends[request.number] = sends + 1
            self._send(request)
            return
        self._close_request(request.number)
        text = (
            f"{request.verb!r} is not answered: {sends} connections were lost after it: look"
            " at the log of the broker"
        )
        refused = Refused(
            kind=RefusedKind.REQUEST, number=request.number, reason="no_answer", text=text
        )
        self._tell(Answered(request.number, refused))

    def _close_request(self, number: int) -> bool:
        """One is answered, or nobody waits for it; False if it was not open."""
        self._request_sends.pop(number, None)
        return self._requests.pop(number, None) is not None

    def _attach(self, own: ClientSubscription) -> None:
        self._send(own.attach())
        self._grant(own.number, *own.whole_credit())

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

    def _on_confirm(self, frame: Confirm) -> None:
        if isinstance(frame, Receipt):
            self._tell(Receipted(frame.runs))
            return
        new = [each for run in frame.runs for each in self._publications.confirm(run)]
        if new:
            self._tell(Confirmed(tuple(new)))

    def _on_message(self, frame: HandOut) -> None:
        own = self._subscriptions.get(frame.subscription)
        if own is None:
            return
        messages = own.admit(frame)
        if messages:
            self._outputs.append(Deliver(ReceivedMany(frame.subscription, messages)))
        if len(messages) < len(frame.bodies):
            admitted_bytes = sum(len(message.body) for message in messages)
            self.take(
                frame.subscription,
                len(frame.bodies) - len(messages),
                sum(map(len, frame.bodies)) - admitted_bytes,
            )

    def _on_gap(self, frame: GapNotice) -> None:
        own = self._subscriptions.get(frame.subscription)
        start = None if own is None else own.admits_gap(frame)
        if start is not None:
            self._tell(
                Missed(
                    frame.subscription,
                    frame.pubend,
                    start,
                    frame.stop,
                    frame.reason,
                    frame.messages,
                )
            )

    def _on_attached(self, frame: Attached) -> None:
        own = self._subscriptions.get(frame.subscription)
        if own is None:
            return
        if not own.is_attaching:
            own.went_back_to(frame.positions)
            return
        is_first = not own.was_open
        own.opened_at(frame.positions)
        if is_first:
            self._tell(Opened(frame.subscription, frame.resumed, frame.positions))
        positions = own.acknowledgements()
        if positions:
            self._send(
                ClientAck(subscription=frame.subscription, positions=positions, is_awaited=True)
            )
        for failure in own.failed.values():
            self._send(failure)

    def _on_moved(self, number: int) -> None:
        """What was handed over before counts no more: opens the subscription again."""
        own = self._subscriptions.get(number)
        if own is not None:
            own.begin_anew()
            self._tell(Moved(number))
            self._attach(own)

    def _on_refused(self, frame: Refused) -> None:
        if frame.kind is RefusedKind.PUBLICATION:
            if self._publications.close(frame.number):
                self._tell(NotTaken(frame.number, frame))
        elif frame.kind is RefusedKind.SUBSCRIPTION and frame.reason == MOVED:
            self._on_moved(frame.number)
        elif frame.kind is RefusedKind.SUBSCRIPTION:
            if self._subscriptions.pop(frame.number, None) is not None:
                self._tell(Ended(frame.number, frame))
        elif frame.kind is RefusedKind.REQUEST:
            if self._close_request(frame.number):
                self._tell(Answered(frame.number, frame))
        else:
            self._tell(Fenced(frame))

    def _tell(self, fact: ClientFact) -> None:
        self._outputs.append(Deliver(fact))

    def _send(self, frame: ClientFrame) -> None:
        # What was published before it leaves before it.
        while self.is_connected and (before := self._publications.next_frame()) is not None:
            self._outputs.append(Send(BROKER, before))
        self._outputs.append(Send(BROKER, frame))
