"""The sending half: admission of messages, their departure and their congestion headers.

1. A submitted message is matched with the controlled flows. It leaves when each of them has a
   token, and waits in the send queue until then.
2. In each feedback round the first message of a flow announces it, so that receivers that would
   request no lower quota stay silent.
3. The next message of a flow echoes the timestamp of its limiting receiver.

A new publisher does not know the allowed rate of the network. It starts slowly and doubles its
rate each round trip until all its messages leave or a receiver sends feedback. Does not know how
feedback is checked: see `feedback_receiver`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.content.message import Message
from penstock.content.syntax.writer import format_filter
from penstock.content.tags import Encoder
from penstock.kernel.instant import (
    MICROSECOND,
    MILLISECOND,
    Duration,
    Instant,
    earliest,
)
from penstock.tfrc.rate_meter import RateMeter
from penstock.transport.congestion.facts import FlowState
from penstock.transport.congestion.feedback_protocol import CLR_MASK
from penstock.transport.congestion.sender.feedback_receiver import FeedbackReceiver
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.send_queue import QueuedMessage, SendQueue
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.publish.congestion_header import CongestionHeader
from penstock.transport.statistics import ControlledFlowStatistics, SendStatistics
from penstock.wire.codec.message import size_message
from penstock.wire.frames.data import FlowAnnouncement, FlowTag
from penstock.wire.frames.feedback import Feedback
from penstock.wire.limits import FLOWS_MAX, MESSAGE_BYTES_MAX

_SLOW_START_ID: Final = -1
_DRAIN_FACTOR: Final = 1.25
# With more changed flows it is faster to match all messages again than to check each flow.
_CHANGED_MAX: Final = 16
_DOUBLING_INTERVAL_MIN_NS: Final = 250 * MILLISECOND
# Minimum time between two matchings, per queued message: bounds the work when flows keep
# changing while many messages wait.
_MATCH_PER_MESSAGE_NS: Final = 100 * MICROSECOND
# Frame bytes of an echo, and of a flow announcement without its Bloom set.
_ECHO_BYTES: Final = 14
_DETAIL_BYTES: Final = 5


class SendController:
    """Controls when the messages of one endpoint leave."""

    def __init__(
        self,
        settings: CongestionSettings,
        encoder: Encoder,
        counters: dict[str, int],
        now: Instant,
    ) -> None:
        self._settings: Final = settings
        self._queue_max: Final = settings.queue_max
        self._bloom_bytes: Final = encoder.params.m + 7 >> 3
        self._is_literal: Final = settings.law == "literal"
        self._encoder: Final = encoder
        self.feedback_receiver: Final = FeedbackReceiver(settings, encoder, counters)
        self.flow_table: Final = self.feedback_receiver.flow_table
        self.rounds: Final = self.feedback_receiver.rounds
        self._send_queue: Final = SendQueue(keep_order=settings.strict)
        self._offered: Final = RateMeter()
        # A flow of all messages while the allowed rate is unknown; None after slow start.
        self._slow_start: ControlledFlow | None = ControlledFlow(
            _SLOW_START_ID, None, 0, 0, settings.initial_rate_mps, now
        )
        self._doubled_ns: Instant = now
        self._matched_with = (0, 2)
        # When queued messages were last matched, and may be again: matching many takes long.
        self._matched_ns = self._match_after_ns = now
        # The message submitted last, if it leaves at once, and its flows.
        self._immediate: tuple[QueuedMessage, Sequence[ControlledFlow]] | None = None

    # Submitting and sending.

    @property
    def queued_messages(self) -> int:
        """The number of queued messages."""
        return len(self._send_queue) + (self._immediate is not None)

    @property
    def queued(self) -> Sequence[QueuedMessage]:
        """The messages in the send queue, oldest first."""
        return self._send_queue.queued()

    def sample(self) -> Iterator[FlowState]:
        """The state of all controlled flows."""
        queued_by_flow = self._send_queue.queued_by_flow()
        for flow in self.flow_table:
            limited_by = None if flow.is_orphan else flow.clr
            name = str(flow.id) if flow.filter is None else format_filter(flow.filter)
            queued = queued_by_flow.get(flow.id, 0)
            yield FlowState(flow.id, name, limited_by, flow.quota_mps, flow.last_seq, queued)

    def statistics(self) -> SendStatistics:
        """The size of everything bounded here."""
        feedback_receiver, limits = self.feedback_receiver, self.feedback_receiver.limits
        return SendStatistics(
            queued=self.queued_messages,
            unclassified=self._send_queue.unclassified,
            lanes=self._send_queue.lanes,
            flows=tuple(
                [
                    ControlledFlowStatistics(
                        flow_id=flow.id,
                        limiting_receiver=flow.clr,
                        quota_mps=flow.quota_mps,
                        outstanding=None if flow.window is None else len(flow.window),
                    )
                    for flow in self.flow_table
                ]
            ),
            pending_echoes=feedback_receiver.pending_echoes,
            receiver_budgets=limits.budgets,
            receivers=limits.receiver_count,
            refused_receivers=limits.refused_receivers,
        )

    @property
    def send_queue_is_full(self) -> bool:
        """Whether the send queue has reached its limit."""
        return len(self._send_queue) >= self._queue_max

    def has_room_for(self, message: Message, now: Instant) -> bool:
        """Whether the queue has room, or this message would leave at once without it."""
        return not self.send_queue_is_full or self._leaves_now(self._matching_flows(message), now)

    def _leaves_now(self, flows: Sequence[ControlledFlow], now: Instant) -> bool:
        """Whether a message of these flows would leave at once."""
        return self._is_current and self._send_queue.would_leave_now(flows, now)

    def submit(self, message: Message, now: Instant) -> QueuedMessage | None:
        """Queue a message; return the message dropped for it, possibly itself."""
        self.rounds.begin(now)
        if self._slow_start is not None:
            self._offered.count(now)
        send_queue, flows = self._send_queue, self._matching_flows(message)
        if self._immediate is not None:
            # The caller has not called `ready` since the last submission.
            earlier, earlier_flows = self._immediate
            send_queue.put(earlier.message, earlier_flows, earlier.submitted_ns)
            self._immediate = None
        for flow in flows:
            flow.offered.count(now)
        dropped = None
        if self._leaves_now(flows, now):
            # Even if the queue is full: no queued message waits for these flows.
            self._immediate = QueuedMessage(0, message, now), flows
            return None
        if len(send_queue) >= self._queue_max:
            if self._settings.policy == "drop-newest":
                return QueuedMessage(0, message, now)
            dropped = send_queue.drop_oldest(now)
        if send_queue and self._is_outdated and not self._settings.strict:
            send_queue.put_unclassified(message, now)
        else:
            send_queue.put(message, flows, now)
        return dropped

    def take_immediate(self, now: Instant) -> tuple[QueuedMessage, Sequence[ControlledFlow]] | None:
        """Take the message submitted last, if it leaves at once; no other may leave then."""
        immediate = self._immediate
        if immediate is None:
            return None
        self._immediate = None
        queued, flows = immediate
        for flow in flows:
            flow.bucket.take(now)
        if flows and flows[0].id == _SLOW_START_ID:
            flows = flows[1:]
        return queued, flows

    def ready(self, now: Instant) -> Iterator[tuple[QueuedMessage, Sequence[ControlledFlow]]]:
        """Yield the messages that may leave now, with their flows."""
        immediate = self.take_immediate(now)
        if immediate is not None:
            yield immediate
            return
        self._reclassify(now)
        if self._send_queue:
            for queued, flows in self._send_queue.ready(now):
                yield queued, [flow for flow in flows if flow.id != _SLOW_START_ID]

    def header_for(
        self, message: Message, flows: Sequence[ControlledFlow], now: Instant
    ) -> CongestionHeader:
        """Build the congestion header of a message that is about to leave."""
        if not flows:
            return CongestionHeader(
                (), None, self.rounds.max_round_trip_code, self.rounds.current_round
            )
        flow_tags = []
        echo = None
        # Computed only if a flow is to be announced.
        room_bytes = None
        feedback_receiver, round_ = self.feedback_receiver, self.rounds.current_round
        for position, flow in enumerate(flows[:FLOWS_MAX]):
            flow.next_seq(now)
            detail = None
            if flow.announced_round != round_:
                if room_bytes is None:
                    room_bytes = MESSAGE_BYTES_MAX - _ECHO_BYTES - size_message(message)
                if room_bytes >= (position + 1) * (_DETAIL_BYTES + self._bloom_bytes):
                    flow.announced_round = round_
                    detail = FlowAnnouncement(flow.clr & CLR_MASK, flow.bits, self._bloom_bytes)
            flow_tags.append(FlowTag(flow.id, flow.advertised_mps, flow.last_seq, detail))
            if echo is None:
                echo = feedback_receiver.take_echo(flow.id, now)
        return CongestionHeader(tuple(flow_tags), echo, self.rounds.max_round_trip_code, round_)

    # Feedback and repairs.

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """Apply a receiver's feedback; with the literal law the first one ends slow start."""
        self.feedback_receiver.on_feedback(feedback, now)
        if self._is_literal and self.feedback_receiver.has_feedback:
            # The other laws continue slow start for messages in no controlled flow, which must
            # not leave all at once.
            self._slow_start = None

    def admit_repair(self, bits: int, now: Instant) -> bool:
        """Whether a repair may leave: repairs may use a tenth of each flow."""
        flows = self.flow_table.possibly_matching(bits)
        if any(flow.repair_bucket.available(now) < 1 for flow in flows):
            return False
        for flow in flows:
            flow.repair_bucket.take(now)
            # The balance may become negative: then new messages wait.
            flow.bucket.take(now)
        return True

    # Timers.

    def wake(self, now: Instant) -> None:
        """Run what is due: feedback rounds, expiry of flows, slow start."""
        self.rounds.wake(now)
        self.flow_table.expire(self.rounds.max_round_trip_ns, now)
        if self._slow_start is not None and now - self._doubled_ns >= self._doubling_interval_ns:
            self._doubled_ns = now
            quota_mps = self._slow_start.quota_mps
            # Drain the queue within about a second, not in one burst.
            max_mps = max(_DRAIN_FACTOR * self._offered.rate(now), len(self._send_queue))
            is_idle = not self._send_queue and self._offered.rate(now) < quota_mps
            if is_idle or (self.feedback_receiver.has_feedback and quota_mps >= max_mps):
                self._slow_start = None
            else:
                self._slow_start.set_quota(max(quota_mps, min(2 * quota_mps, max_mps)), now)
                self.flow_table.retimed[_SLOW_START_ID] = None

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        at = self.rounds.ends_at
        if self._slow_start is None or at is None:
            return at
        return min(at, self._doubled_ns + self._doubling_interval_ns)

    def next_send_at(self, now: Instant) -> Instant | None:
        """When the next message may leave, if nothing changes."""
        if not self._send_queue:
            return None
        at = self._send_queue.next_send_at(now)
        return at if self._is_current else earliest(at, max(now, self._match_after_ns))

    # Internals.

    @property
    def _doubling_interval_ns(self) -> Duration:
        """Receivers need this long to report: a growing queue makes round trips longer."""
        return max(self.rounds.max_round_trip_ns, _DOUBLING_INTERVAL_MIN_NS)

    def _matching_flows(self, message: Message) -> list[ControlledFlow]:
        bits = self._encoder.message_bits(message) if self._is_literal else 0
        flows = self.flow_table.match(message, bits)
        if self._slow_start is None or (self.feedback_receiver.has_feedback and flows):
            return flows
        return [self._slow_start, *flows]

    @property
    def _slow_start_scope(self) -> int:
        """Slow start limits all messages (2), those in no controlled flow (1), or none (0)."""
        return 0 if self._slow_start is None else 2 - self.feedback_receiver.has_feedback

    @property
    def _is_current(self) -> bool:
        """Whether queued messages are matched and scheduled with the present flows."""
        version, slow_start_scope = self._matched_with
        table = self.flow_table
        return (
            not table.retimed
            and version == table.version
            and slow_start_scope
            == (0 if self._slow_start is None else 2 - self.feedback_receiver.has_feedback)
        )

    @property
    def _is_outdated(self) -> bool:
        """Whether flows were added or removed since the queued messages were matched."""
        return self._matched_with != (self.flow_table.version, self._slow_start_scope)

    def _change_affects_queued(self, changed: Sequence[ControlledFlow]) -> bool:
        """Whether added or removed flows may match queued messages."""
        is_unsure = self._is_literal or len(changed) > _CHANGED_MAX
        return is_unsure or self._send_queue.affects_queued(changed)

    def _reclassify(self, now: Instant) -> None:
        if self._is_current:
            return
        table, send_queue = self.flow_table, self._send_queue
        for id_ in table.retimed:
            send_queue.on_flow_changed(id_, now)
        table.retimed.clear()
        if not self._is_outdated:
            return
        if send_queue and self._matched_ns <= now < self._match_after_ns:
            return
        old_slow_start_scope = self._matched_with[1]
        self._matched_with = table.version, self._slow_start_scope
        self._matched_ns, self._match_after_ns = now, now + _MATCH_PER_MESSAGE_NS * len(send_queue)
        changed = list(table.changed)
        table.changed.clear()
        if send_queue and (
            old_slow_start_scope != self._slow_start_scope or self._change_affects_queued(changed)
        ):
            send_queue.reclassify(self._matching_flows, now)
        else:
            send_queue.classify_new(self._matching_flows, now)
