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
from penstock.transport.congestion.facts import EchoSent, FlowState
from penstock.transport.congestion.receiver.feedback_sender import FrameSent
from penstock.transport.congestion.receiver.session import CongestionSession
from penstock.transport.congestion.receiver.sessions import SessionTable
from penstock.transport.congestion.repair_allowance import RepairAllowance
from penstock.transport.congestion.sender.feedback_limits import REFUSAL_REASONS
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.send_queue import QueuedMessage
from penstock.transport.congestion.sender.sender import SendController
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.facts import Loss
from penstock.transport.publish.congestion_header import CongestionHeader
from penstock.transport.statistics import CongestionStatistics
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback
from penstock.wire.quantise import stamp_us

_COUNTERS: Final = ("feedback", "acks", "marked", *REFUSAL_REASONS)


class CongestionController:
    """Asks and obeys for one endpoint; `send` gets what is said to others."""

    def __init__(
        self,
        endpoint_id: int,
        epoch: int,
        settings: CongestionSettings,
        encoder: Encoder,
        *,
        draw: Callable[[], float],
        send: Callable[[FrameSent, Instant], None],
        counters: dict[str, int],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._epoch: Final = epoch
        self._settings: Final = settings
        self._encoder: Final = encoder
        self._send: Final = send
        self._counters: Final = counters
        # None before anything is published.
        self._sender: SendController | None = None
        self._receiver: Final = SessionTable(endpoint_id, settings, encoder, draw=draw, send=send)
        self._repair_allowance: Final = RepairAllowance()
        self._next_send_at: Instant | None = None
        for name in _COUNTERS:
            counters.setdefault(name, 0)

    # What is published.

    @property
    def send_queue_is_full(self) -> bool:
        """Whether whoever publishes should wait."""
        return self._sender is not None and self._sender.send_queue_is_full

    def has_room_for(self, message: Message, now: Instant) -> bool:
        """Whether this message can be offered though it is full."""
        return self._sender is None or self._sender.has_room_for(message, now)

    @property
    def drops_when_full(self) -> bool:
        """Whether, when it is full, something is dropped; else whoever publishes waits."""
        return self._settings.policy != "block"

    @property
    def queued_messages(self) -> int:
        """Messages that wait for tokens."""
        return 0 if self._sender is None else self._sender.queued_messages

    @property
    def controlled_flows(self) -> Sequence[ControlledFlow]:
        """What is controlled here."""
        return () if self._sender is None else list(self._sender.flow_table)

    @property
    def queued(self) -> Sequence[QueuedMessage]:
        """Messages that wait for tokens, the oldest first."""
        return () if self._sender is None else self._sender.queued

    def sample(self) -> Sequence[FlowState]:
        """What is controlled here, for the trace."""
        return () if self._sender is None else list(self._sender.sample())

    @property
    def sessions(self) -> Sequence[CongestionSession]:
        """What is measured here."""
        return self._receiver.sessions

    @property
    def refusals(self) -> Mapping[int, Mapping[str, int]]:
        """Which receivers were refused something, why and how often: the last 256."""
        return {} if self._sender is None else self._sender.feedback_receiver.limits.refusals

    def statistics(self) -> CongestionStatistics:
        """The size of everything bounded here."""
        return CongestionStatistics(
            sender=None if self._sender is None else self._sender.statistics(),
            receiver=self._receiver.statistics(),
            repair_allowances=len(self._repair_allowance),
        )

    def submit(self, message: Message, now: Instant) -> QueuedMessage | None:
        """One more message; returns what is dropped for it, which may be this one."""
        if self._sender is None:
            self._sender = SendController(self._settings, self._encoder, self._counters, now)
        return self._sender.submit(message, now)

    def ready(self, now: Instant) -> Iterable[tuple[QueuedMessage, CongestionHeader]]:
        """What may leave now, and what it is to say; call `settle` after it."""
        sender = self._sender
        if sender is None:
            return ()
        immediate = sender.take_immediate(now)
        if immediate is not None:
            # Most messages: what was offered just now, and nothing else.
            queued, flows = immediate
            return ((queued, sender.header_for(queued.message, flows, now)),)
        return self._ready_from_queue(sender, now)

    def _ready_from_queue(
        self, sender: SendController, now: Instant
    ) -> Iterator[tuple[QueuedMessage, CongestionHeader]]:
        for queued, flows in sender.ready(now):
            yield queued, sender.header_for(queued.message, flows, now)

    def update_deadline(self, now: Instant) -> None:
        """Everything that may leave has left."""
        self._next_send_at = None if self._sender is None else self._sender.next_send_at(now)

    # What is wanted and comes.

    def subscribed(self, interest_id: int, predicate: Predicate) -> None:
        """One more predicate."""
        self._receiver.subscribed(interest_id, predicate)

    def set_weight(self, interest_id: int, weight: float) -> None:
        """It is to get so much more, or less, than others, where not all can have all."""
        self._receiver.set_weight(interest_id, weight)

    def unsubscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """One less."""
        self._receiver.unsubscribed(interest_id, predicate, now)

    def on_received(self, frame: Data, size_bytes: int, now: Instant) -> None:
        """An original, for the first time, that somebody here wants."""
        self._receiver.on_data(frame, size_bytes, now)

    def on_mark(self, frame: Data, now: Instant) -> None:
        """One is about to come that stood in a queue that was too full."""
        self._counters["marked"] += 1
        self._receiver.on_mark(frame.pub, frame.epoch, now)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A number is lost, or it came after all and never was."""
        self._receiver.on_loss(loss, now=now)

    def on_frame(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is about something else."""
        if type(frame) is Feedback:
            if frame.pub == self._endpoint_id and self._sender is not None:
                self._sender.on_feedback(frame, now)
        elif type(frame) is Ack:
            if (frame.pub, frame.epoch) == (
                self._endpoint_id,
                self._epoch,
            ) and self._sender is not None:
                self._sender.feedback_receiver.on_ack(frame, now)
        elif type(frame) is EchoRequest:
            self._on_echo_request(frame, now)
        elif type(frame) is EchoReply:
            self._receiver.on_echo(frame, now)
        else:
            return False
        return True

    def _on_echo_request(self, request: EchoRequest, now: Instant) -> None:
        if request.pub != self._endpoint_id or self._sender is None:
            # Of one that has published nothing nobody needs to know how far away it is.
            return
        receivers = self._sender.feedback_receiver.on_echo_request(request, now)
        if receivers is None:
            return
        reply = EchoReply(
            to=request.subscriber,
            pub=self._endpoint_id,
            send_ts_us=stamp_us(now),
            echo_ts_us=request.send_ts_us,
            hold_100us=0,
            receivers=receivers,
        )
        self._send(EchoSent(reply), now)

    # What recovery may do.

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may leave now."""
        return self._receiver.admit_request(publisher, size_bytes, now)

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message, as it was sent or came, may leave once more."""
        if original.pub != self._endpoint_id:
            return self._repair_allowance.try_take(original, now)
        bits = self._encoder.message_bits(original.message)
        return self._sender is None or self._sender.admit_repair(bits, now)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Runs everything that is due; what may leave after it is `ready`."""
        self._receiver.wake(now)
        if self._sender is not None:
            self._sender.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        sender = None if self._sender is None else self._sender.next_wakeup()
        return earliest(self._next_send_at, sender, self._receiver.next_wakeup())
