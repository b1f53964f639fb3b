"""Congestion control of one endpoint: its publisher's part and its receiver's, together.

    offer, ready      what the application publishes, and what of it leaves
    came, on_loss     what is measured
    take              what receivers and publishers say to one another
    may_ask           what recovery asks before it asks others
    may_repair        and before it answers them

Knows nothing of the network but that frames go to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant, earliest
from penstock.transport.congestion.facts import Echoed, FlowState
from penstock.transport.congestion.receiver.feedback_sender import Said
from penstock.transport.congestion.receiver.session import Session
from penstock.transport.congestion.receiver.sessions import Receiver
from penstock.transport.congestion.repair_allowance import PeerRepairs
from penstock.transport.congestion.sender.feedback_limits import REASONS
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.send_queue import Waiting
from penstock.transport.congestion.sender.sender import Sender
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.facts import Loss
from penstock.transport.publish.congestion_header import Head
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback
from penstock.wire.quantise import stamp_us

_COUNTERS: Final = ("feedback", "acks", "marked", *REASONS)


class Congestion:
    """Asks and obeys for one endpoint; `send` gets what is said to others."""

    def __init__(
        self,
        me: int,
        epoch: int,
        settings: CongestionSettings,
        encoder: Encoder,
        *,
        draw: Callable[[], float],
        send: Callable[[Said, Instant], None],
        counters: dict[str, int],
    ) -> None:
        self._me: Final = me
        self._epoch: Final = epoch
        self._settings: Final = settings
        self._encoder: Final = encoder
        self._send: Final = send
        self._counters: Final = counters
        # None before anything is published.
        self._sender: Sender | None = None
        self._receiver: Final = Receiver(me, settings, encoder, draw=draw, send=send)
        self._repairs: Final = PeerRepairs()
        self._leave_at: Instant | None = None
        for name in _COUNTERS:
            counters.setdefault(name, 0)

    # What is published.

    @property
    def is_full(self) -> bool:
        """Whether whoever publishes should wait."""
        return self._sender is not None and self._sender.is_full

    def has_room(self, message: Message, now: Instant) -> bool:
        """Whether this message can be offered though it is full."""
        return self._sender is None or self._sender.has_room(message, now)

    @property
    def drops(self) -> bool:
        """Whether, when it is full, something is dropped; else whoever publishes waits."""
        return self._settings.policy != "block"

    @property
    def waiting(self) -> int:
        """Messages that wait for tokens."""
        return 0 if self._sender is None else self._sender.waiting

    @property
    def flows(self) -> Sequence[ControlledFlow]:
        """What is controlled here."""
        return () if self._sender is None else list(self._sender.table)

    @property
    def held(self) -> Sequence[Waiting]:
        """Messages that wait for tokens, the oldest first."""
        return () if self._sender is None else self._sender.held

    def sample(self) -> Sequence[FlowState]:
        """What is controlled here, for the trace."""
        return () if self._sender is None else list(self._sender.sample())

    @property
    def sessions(self) -> Sequence[Session]:
        """What is measured here."""
        return self._receiver.sessions

    @property
    def refused(self) -> Mapping[int, Mapping[str, int]]:
        """Which receivers were refused something, why and how often: the last 256."""
        return {} if self._sender is None else self._sender.listener.gate.refused

    def offer(self, message: Message, now: Instant) -> Waiting | None:
        """One more message; returns what is dropped for it, which may be this one."""
        if self._sender is None:
            self._sender = Sender(self._settings, self._encoder, self._counters, now)
        return self._sender.offer(message, now)

    def ready(self, now: Instant) -> Iterable[tuple[Waiting, Head]]:
        """What may leave now, and what it is to say; call `settle` after it."""
        sender = self._sender
        if sender is None:
            return ()
        passed = sender.passed(now)
        if passed is not None:
            # Most messages: what was offered just now, and nothing else.
            each, flows = passed
            return ((each, sender.head(each.message, flows, now)),)
        return self._waited(sender, now)

    def _waited(self, sender: Sender, now: Instant) -> Iterator[tuple[Waiting, Head]]:
        for each, flows in sender.ready(now):
            yield each, sender.head(each.message, flows, now)

    def settle(self, now: Instant) -> None:
        """Everything that may leave has left."""
        self._leave_at = None if self._sender is None else self._sender.next_at(now)

    # What is wanted and comes.

    def subscribed(self, wish: int, predicate: Predicate) -> None:
        """One more predicate."""
        self._receiver.subscribed(wish, predicate)

    def weigh(self, wish: int, weight: float) -> None:
        """It is to get so much more, or less, than others, where not all can have all."""
        self._receiver.weigh(wish, weight)

    def unsubscribed(self, wish: int, predicate: Predicate, now: Instant) -> None:
        """One less."""
        self._receiver.unsubscribed(wish, predicate, now)

    def came(self, frame: Data, size_bytes: int, now: Instant) -> None:
        """An original, for the first time, that somebody here wants."""
        self._receiver.on_data(frame, size_bytes, now)

    def marked(self, frame: Data, now: Instant) -> None:
        """One is about to come that stood in a queue that was too full."""
        self._counters["marked"] += 1
        self._receiver.on_marked(frame.pub, frame.epoch, now)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A number is lost, or it came after all and never was."""
        self._receiver.on_loss(loss, now=now)

    def take(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is about something else."""
        if type(frame) is Feedback:
            if frame.pub == self._me and self._sender is not None:
                self._sender.on_feedback(frame, now)
        elif type(frame) is Ack:
            if (frame.pub, frame.epoch) == (self._me, self._epoch) and self._sender is not None:
                self._sender.listener.on_ack(frame, now)
        elif type(frame) is EchoRequest:
            self._on_echo_request(frame, now)
        elif type(frame) is EchoReply:
            self._receiver.on_echo(frame, now)
        else:
            return False
        return True

    def _on_echo_request(self, request: EchoRequest, now: Instant) -> None:
        if request.pub != self._me or self._sender is None:
            # Of one that has published nothing nobody needs to know how far away it is.
            return
        receivers = self._sender.listener.on_echo_request(request, now)
        if receivers is None:
            return
        reply = EchoReply(
            to=request.subscriber,
            pub=self._me,
            send_ts_us=stamp_us(now),
            echo_ts_us=request.send_ts_us,
            hold_100us=0,
            receivers=receivers,
        )
        self._send(Echoed(reply), now)

    # What recovery may do.

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may leave now."""
        return self._receiver.may_ask(publisher, size_bytes, now)

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message, as it was sent or came, may leave once more."""
        if original.pub != self._me:
            return self._repairs.take(original, now)
        bits = self._encoder.message_bits(original.message)
        return self._sender is None or self._sender.may_repair(bits, now)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Runs everything that is due; what may leave after it is `ready`."""
        self._receiver.wake(now)
        if self._sender is not None:
            self._sender.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        sender = None if self._sender is None else self._sender.next_wakeup()
        return earliest(self._leave_at, sender, self._receiver.next_wakeup())
