"""Congestion control of one endpoint: its sending half and its receiving half.

    submit, ready                  queue a message of the application; messages that may be sent
    on_received, on_mark, on_loss  measure what arrives
    on_frame                       handle FEEDBACK, ACK, ECHO_REQ and ECHO_REP
    admit_request, admit_repair    limit what recovery sends

Does not know the network: frames to send go to a callback.
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
    """Routes calls to the two halves; `send` gets the congestion frames of this endpoint."""

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
        # None until the first message is submitted.
        self._sender: SendController | None = None
        self._receiver: Final = SessionTable(endpoint_id, settings, encoder, draw=draw, send=send)
        self._repair_allowance: Final = RepairAllowance()
        self._next_send_at: Instant | None = None
        for name in _COUNTERS:
            counters.setdefault(name, 0)

    # Publishing.

    @property
    def send_queue_is_full(self) -> bool:
        """Whether the send queue is full, so that the publisher should wait."""
        return self._sender is not None and self._sender.send_queue_is_full

    def has_room_for(self, message: Message, now: Instant) -> bool:
        """Whether this message can be submitted now, even if the queue is full."""
        return self._sender is None or self._sender.has_room_for(message, now)

    @property
    def drops_when_full(self) -> bool:
        """Whether a full queue drops messages; otherwise the publisher waits."""
        return self._settings.policy != "block"

    @property
    def queued_messages(self) -> int:
        """The number of messages that wait for tokens."""
        return 0 if self._sender is None else self._sender.queued_messages

    @property
    def controlled_flows(self) -> Sequence[ControlledFlow]:
        """The flows that this publisher controls."""
        return () if self._sender is None else list(self._sender.flow_table)

    @property
    def queued(self) -> Sequence[QueuedMessage]:
        """Messages that wait for tokens, oldest first."""
        return () if self._sender is None else self._sender.queued

    def sample(self) -> Sequence[FlowState]:
        """The state of the controlled flows, for the trace."""
        return () if self._sender is None else list(self._sender.sample())

    @property
    def sessions(self) -> Sequence[CongestionSession]:
        """The sessions of this receiver, one per publisher."""
        return self._receiver.sessions

    @property
    def refusals(self) -> Mapping[int, Mapping[str, int]]:
        """Refusals by receiver and reason, of the 256 receivers refused last."""
        return {} if self._sender is None else self._sender.feedback_receiver.limits.refusals

    def statistics(self) -> CongestionStatistics:
        """The size of everything bounded here."""
        return CongestionStatistics(
            sender=None if self._sender is None else self._sender.statistics(),
            receiver=self._receiver.statistics(),
            repair_allowances=len(self._repair_allowance),
        )

    def submit(self, message: Message, now: Instant) -> QueuedMessage | None:
        """Queue a message; return the message dropped for it, possibly itself."""
        if self._sender is None:
            self._sender = SendController(self._settings, self._encoder, self._counters, now)
        return self._sender.submit(message, now)

    def ready(self, now: Instant) -> Iterable[tuple[QueuedMessage, CongestionHeader]]:
        """Messages that may leave now, with their headers; call `update_deadline` afterwards."""
        sender = self._sender
        if sender is None:
            return ()
        immediate = sender.take_immediate(now)
        if immediate is not None:
            # The common case: only the message just submitted leaves.
            queued, flows = immediate
            return ((queued, sender.header_for(queued.message, flows, now)),)
        return self._ready_from_queue(sender, now)

    def _ready_from_queue(
        self, sender: SendController, now: Instant
    ) -> Iterator[tuple[QueuedMessage, CongestionHeader]]:
        for queued, flows in sender.ready(now):
            yield queued, sender.header_for(queued.message, flows, now)

    def update_deadline(self, now: Instant) -> None:
        """Compute the next send time, after all ready messages have left."""
        self._next_send_at = None if self._sender is None else self._sender.next_send_at(now)

    # Subscribing and receiving.

    def subscribed(self, interest_id: int, predicate: Predicate) -> None:
        """Measure the filters of a new predicate, with weight 1."""
        self._receiver.subscribed(interest_id, predicate)

    def set_weight(self, interest_id: int, weight: float) -> None:
        """Set the weight of an interest when the allowed rate is shared among filters."""
        self._receiver.set_weight(interest_id, weight)

    def unsubscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """Stop measuring the filters that only this interest had."""
        self._receiver.unsubscribed(interest_id, predicate, now)

    def on_received(self, frame: Data, size_bytes: int, now: Instant) -> None:
        """An original message that matches an interest here arrives for the first time."""
        self._receiver.on_data(frame, size_bytes, now)

    def on_mark(self, frame: Data, now: Instant) -> None:
        """The network has marked this message; called before `on_received`."""
        self._counters["marked"] += 1
        self._receiver.on_mark(frame.pub, frame.epoch, now)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A message is declared lost, or an earlier loss is retracted."""
        self._receiver.on_loss(loss, now=now)

    def on_frame(self, frame: TransportFrame, now: Instant) -> bool:
        """Handle a congestion frame; return False for any other frame."""
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
            # Nobody needs the round trip to an endpoint that has published nothing.
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

    # Limits on recovery.

    def admit_request(self, publisher: int, size_bytes: int, *, now: Instant) -> bool:
        """Whether a request for messages of this publisher may leave now."""
        return self._receiver.admit_request(publisher, size_bytes, now)

    def admit_repair(self, original: Data, *, now: Instant) -> bool:
        """Whether this message, with the flows of its original, may be sent as a repair."""
        if original.pub != self._endpoint_id:
            return self._repair_allowance.try_take(original, now)
        bits = self._encoder.message_bits(original.message)
        return self._sender is None or self._sender.admit_repair(bits, now)

    # Timers.

    def wake(self, now: Instant) -> None:
        """Run all timers that are due; call `ready` afterwards."""
        self._receiver.wake(now)
        if self._sender is not None:
            self._sender.wake(now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        sender = None if self._sender is None else self._sender.next_wakeup()
        return earliest(self._next_send_at, sender, self._receiver.next_wakeup())
