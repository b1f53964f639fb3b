"""The publisher's part: what leaves when, and what it says of the flows it is in.

1. What is offered is matched against the flows that are controlled; it leaves when each
   of them has a token, and waits in the `outbox` until then.
2. In each round of feedback the first message of a flow announces it, so that receivers
   who would ask for no less keep silent.
3. Who limits a flow gets its stamp back with the next message of it.

A publisher that has only begun does not know what the network bears: it begins slowly,
and doubles each round trip until it sends all it has, or somebody complains.
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
# Of so many flows that came or went it is quicker not to ask for each.
_CHANGED_MAX: Final = 16
_DOUBLING_INTERVAL_MIN_NS: Final = 250 * MILLISECOND
# Not to spend all of one's time with flows that come and go while many messages wait.
_MATCH_PER_MESSAGE_NS: Final = 100 * MICROSECOND
# What an echo, and a flow's announcement beside its Bloom set, take of a frame.
_ECHO_BYTES: Final = 14
_DETAIL_BYTES: Final = 5


class SendController:
    """Of one endpoint's messages."""

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
        # The flow of everything, while it is not known what the network bears.
        self._slow_start: ControlledFlow | None = ControlledFlow(
            _SLOW_START_ID, None, 0, 0, settings.initial_rate_mps, now
        )
        self._doubled_ns: Instant = now
        self._matched_with = (0, 2)
        # When those that wait may be matched anew: with many it takes long.
        self._matched_ns = self._match_after_ns = now
        # What was offered last and leaves at once, and its flows.
        self._immediate: tuple[QueuedMessage, Sequence[ControlledFlow]] | None = None

    # What the application offers.

    @property
    def queued_messages(self) -> int:
        """Messages that wait."""
        return len(self._send_queue) + (self._immediate is not None)

    @property
    def queued(self) -> Sequence[QueuedMessage]:
        """These messages."""
        return self._send_queue.queued()

    def sample(self) -> Iterator[FlowState]:
        """The flows as they are now."""
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
        """Whether there is no room for another."""
        return len(self._send_queue) >= self._queue_max

    def has_room_for(self, message: Message, now: Instant) -> bool:
        """Whether this one need not wait for room: it may be in no flow that others wait for."""
        return not self.send_queue_is_full or self._leaves_now(self._matching_flows(message), now)

    def _leaves_now(self, flows: Sequence[ControlledFlow], now: Instant) -> bool:
        """Whether a message of these flows leaves at once."""
        return self._is_current and self._send_queue.would_leave_now(flows, now)

    def submit(self, message: Message, now: Instant) -> QueuedMessage | None:
        """One more; returns what is dropped for it, which may be this one."""
        self.rounds.begin(now)
        if self._slow_start is not None:
            self._offered.count(now)
        send_queue, flows = self._send_queue, self._matching_flows(message)
        if self._immediate is not None:
            # Whoever offered it did not ask what may leave.
            earlier, earlier_flows = self._immediate
            send_queue.put(earlier.message, earlier_flows, earlier.submitted_ns)
            self._immediate = None
        for flow in flows:
            flow.offered.count(now)
        dropped = None
        if self._leaves_now(flows, now):
            # Also if the queue is full: of flows that nobody waits for.
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
        """What was offered last, if it leaves at once; then nothing else may leave now."""
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
        """What may leave now."""
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
        """What the message says that is about to leave."""
        if not flows:
            return CongestionHeader(
                (), None, self.rounds.max_round_trip_code, self.rounds.current_round
            )
        flow_tags = []
        echo = None
        # How large it is is asked only if a flow is to be announced.
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

    # What receivers say.

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """A receiver says how much of what may come."""
        self.feedback_receiver.on_feedback(feedback, now)
        if self._is_literal and self.feedback_receiver.has_feedback:
            # It is taken for known now what the network bears. Else the start goes on with what
            # nobody complains of: that must not leave at once.
            self._slow_start = None

    def admit_repair(self, bits: int, now: Instant) -> bool:
        """Whether what is sent again may leave: a tenth of each of its flows is for such."""
        flows = self.flow_table.possibly_matching(bits)
        if any(flow.repair_bucket.available(now) < 1 for flow in flows):
            return False
        for flow in flows:
            flow.repair_bucket.take(now)
            # It may be owed: new messages wait for it.
            flow.bucket.take(now)
        return True

    # What is due.

    def wake(self, now: Instant) -> None:
        """Rounds, silence and the start."""
        self.rounds.wake(now)
        self.flow_table.expire(self.rounds.max_round_trip_ns, now)
        if self._slow_start is not None and now - self._doubled_ns >= self._doubling_interval_ns:
            self._doubled_ns = now
            quota_mps = self._slow_start.quota_mps
            # What has gathered meanwhile must not come at once, but within a second or so.
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

    # How it is done.

    @property
    def _doubling_interval_ns(self) -> Duration:
        """Whoever has to complain must have the time to: a queue makes round trips longer."""
        return max(self.rounds.max_round_trip_ns, _DOUBLING_INTERVAL_MIN_NS)

    def _matching_flows(self, message: Message) -> list[ControlledFlow]:
        bits = self._encoder.message_bits(message) if self._is_literal else 0
        flows = self.flow_table.match(message, bits)
        if self._slow_start is None or (self.feedback_receiver.has_feedback and flows):
            return flows
        return [self._slow_start, *flows]

    @property
    def _slow_start_scope(self) -> int:
        """Whether the start limits everything, what is in no flow, or nothing."""
        return 0 if self._slow_start is None else 2 - self.feedback_receiver.has_feedback

    @property
    def _is_current(self) -> bool:
        """Whether those that wait are matched with the flows that there are."""
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
        """Whether flows came or went since the queued messages were matched."""
        return self._matched_with != (self.flow_table.version, self._slow_start_scope)

    def _change_affects_queued(self, changed: Sequence[ControlledFlow]) -> bool:
        """Whether flows that came or went make a difference to those that wait."""
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
