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

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock.content.message import Message
from penstock.content.syntax.writer import format_filter
from penstock.content.tags import Encoder
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant, earliest
from penstock.transport.congestion.facts import FlowState
from penstock.transport.congestion.head import Head
from penstock.transport.congestion.meter import Meter
from penstock.transport.congestion.outbox import Outbox, Waiting
from penstock.transport.congestion.reporter import CLR_MASK
from penstock.transport.congestion.rtt import R_FIRST_NS
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.congestion.suppression import ROUND_TRIPS
from penstock.transport.congestion.table import ControlledFlow, FlowTable
from penstock.wire.codec.message import size_message
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.data import Echo, Flow, FlowDetail
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback
from penstock.wire.limits import FLOWS_MAX, MESSAGE_BYTES_MAX
from penstock.wire.quantise import hold_100us, quantise_rate, r_max_code, r_max_ns

_START: Final = -1
_R_MAX_KEPT: Final = 0.9
_DRAIN: Final = 1.25
_DOUBLE_MIN_NS: Final = 250 * MILLISECOND
_ECHOES_MAX: Final = 4_096
# Receivers ask for an echo twice a minute; of more it is not known how many they are.
_RECEIVER_NS: Final = 90 * SECOND
_RECEIVERS_MAX: Final = 16_384
# What an echo, and a flow's announcement beside its Bloom set, take of a frame.
_ECHO_BYTES: Final = 14
_DETAIL_BYTES: Final = 5


class _Stamp(NamedTuple):
    receiver: int
    stamp_us: int
    came_ns: Instant


class Sender:
    """Of one endpoint's messages."""

    def __init__(
        self,
        settings: CongestionSettings,
        encoder: Encoder,
        counters: dict[str, int],
        now: Instant,
    ) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self._encoder: Final = encoder
        self.table: Final = FlowTable(settings)
        self._outbox: Final = Outbox(strict=settings.strict)
        self._offered: Final = Meter()
        # The flow of everything, while it is not known what the network bears.
        self._start: ControlledFlow | None = ControlledFlow(
            _START, None, 0, 0, settings.initial_rate_mps, now
        )
        self._doubled_ns: Instant = now
        self._matched_with = (0, True)
        # Stamps to give back, by the flow that they are of.
        self._echoes: Final[OrderedDict[int, _Stamp]] = OrderedDict()
        # Who asked for an echo, and when; who asked last comes last.
        self._receivers: Final[OrderedDict[int, Instant]] = OrderedDict()
        self.r_max_ns: Duration = R_FIRST_NS
        self._is_r_known = False
        self._peak_ns: Duration = 0
        self.round = 0
        self._round_at: Instant | None = None
        self._counters: Final = counters

    # What the application offers.

    @property
    def waiting(self) -> int:
        """Messages that wait."""
        return len(self._outbox)

    @property
    def held(self) -> Sequence[Waiting]:
        """These messages."""
        return self._outbox.waiting()

    def sample(self) -> Iterator[FlowState]:
        """The flows as they are now."""
        waiting = self._outbox.waiting_by_flow()
        for flow in self.table:
            limited_by = None if flow.is_orphan else flow.clr
            name = str(flow.id) if flow.filter is None else format_filter(flow.filter)
            queued = waiting.get(flow.id, 0)
            yield FlowState(flow.id, name, limited_by, flow.quota_mps, flow.seq, queued)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another."""
        return len(self._outbox) >= self._settings.queue_max

    def offer(self, message: Message, now: Instant) -> Waiting | None:
        """One more; returns what is dropped for it, which may be this one."""
        if self._round_at is None:
            self._round_at = now + ROUND_TRIPS * self.r_max_ns
        self._offered.count(now)
        flows = self._match(message)
        for flow in flows:
            flow.offered.count(now)
        dropped = None
        if self.is_full:
            if self._settings.policy == "drop-newest":
                return Waiting(0, message, now)
            dropped = self._outbox.drop_oldest()
        self._outbox.put(message, flows, now)
        return dropped

    def ready(self, now: Instant) -> Iterator[tuple[Waiting, Sequence[ControlledFlow]]]:
        """What may leave now."""
        self._rematch()
        for each, flows in self._outbox.ready(now):
            for flow in flows:
                flow.bucket.take(now)
            yield each, [flow for flow in flows if flow.id != _START]

    def head(self, message: Message, flows: Sequence[ControlledFlow], now: Instant) -> Head:
        """What the message says that is about to leave."""
        if not flows:
            return Head((), None, r_max_code(self.r_max_ns), self.round)
        told = []
        echo = None
        bloom_bytes = self._encoder.params.m + 7 >> 3
        room_bytes = MESSAGE_BYTES_MAX - _ECHO_BYTES - size_message(message)
        for flow in flows[:FLOWS_MAX]:
            flow.number(now)
            detail = None
            room_bytes -= _DETAIL_BYTES + bloom_bytes
            if flow.told_round != self.round and room_bytes >= 0:
                flow.told_round = self.round
                detail = FlowDetail(flow.clr & CLR_MASK, flow.bits, bloom_bytes)
            told.append(Flow(flow.id, quantise_rate(flow.quota_mps), flow.seq, detail))
            if echo is None and flow.id in self._echoes:
                stamp = self._echoes.pop(flow.id)
                echo = Echo(stamp.receiver, stamp.stamp_us, hold_100us(now - stamp.came_ns))
        return Head(tuple(told), echo, r_max_code(self.r_max_ns), self.round)

    # What receivers say.

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """A receiver says how much of what may come."""
        self._counters["feedback"] += 1
        self._end_start()
        if feedback.r_code is not None:
            self._on_rtt(r_max_ns(feedback.r_code))
        for request in feedback.requests:
            bits = request.bloom
            if request.filter is not None:
                bits = self._encoder.filter_bits(request.filter)
            clr = feedback.subscriber
            if feedback.is_leave:
                self.table.leave(request.flow_id, request.filter, bits, clr)
                continue
            if request.quota_mps < self._settings.rate_min_mps:
                self._counters["feedback_floored"] += 1
            if request.flow_id is not None:
                flow = self.table.get(request.flow_id)
                if not self.table.ask_again(request.flow_id, clr, request.quota_mps, now):
                    self._counters["feedback_unknown"] += 1
                    continue
            else:
                flow = self.table.ask(request.filter, bits, clr, request.quota_mps, now)
            if flow is not None:
                flow.rtt_ns = (
                    self.r_max_ns if feedback.r_code is None else r_max_ns(feedback.r_code)
                )
                self._echoes[flow.id] = _Stamp(clr, feedback.send_ts_us, now)
                if len(self._echoes) > _ECHOES_MAX:
                    self._echoes.popitem(last=False)
        self._counters["flows_refused"] = self.table.refused

    def on_ack(self, ack: Ack, now: Instant) -> None:
        """Who limits flows tells what of them came."""
        self._counters["acks"] += 1
        for each in ack.flows:
            if not self.table.acknowledge(each, ack.subscriber, now):
                self._counters["acks_unknown"] += 1

    def on_echo_request(self, request: EchoRequest, now: Instant) -> int:
        """A receiver that has joined may say how far away it is; returns how many there are."""
        if request.r_code is not None:
            self._on_rtt(r_max_ns(request.r_code))
        self._receivers.pop(request.subscriber, None)
        self._receivers[request.subscriber] = now
        oldest = next(iter(self._receivers))
        if len(self._receivers) > _RECEIVERS_MAX or now - self._receivers[oldest] > _RECEIVER_NS:
            del self._receivers[oldest]
        return len(self._receivers)

    def may_repair(self, bits: int, now: Instant) -> bool:
        """Whether what is sent again may leave: a tenth of each of its flows is for such."""
        flows = self.table.within(bits)
        if any(flow.repairs.tokens(now) < 1 for flow in flows):
            return False
        for flow in flows:
            flow.repairs.take(now)
            # It may be owed: new messages wait for it.
            flow.bucket.take(now)
        return True

    # What is due.

    def wake(self, now: Instant) -> None:
        """Rounds, silence and the start."""
        if self._round_at is not None and now >= self._round_at:
            self.round = (self.round + 1) & 0xFF
            self._end_round()
            self._round_at = now + ROUND_TRIPS * self.r_max_ns
        self.table.expire(self.r_max_ns, now)
        if self._start is not None and now - self._doubled_ns >= self._double_ns:
            self._doubled_ns = now
            if not self._outbox and self._offered.rate(now) < self._start.quota_mps:
                self._start = None
            else:
                # What has gathered meanwhile must not come at once, but within a second or so.
                most = max(_DRAIN * self._offered.rate(now), len(self._outbox))
                quota_mps = self._start.quota_mps
                self._start.set_quota(max(quota_mps, min(2 * quota_mps, most)), now)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        start = None if self._start is None else self._doubled_ns + self._double_ns
        return earliest(self._round_at, start if self._round_at is not None else None)

    def next_at(self, now: Instant) -> Instant | None:
        """When the next message may leave, if nothing changes."""
        return self._outbox.next_at(now) if self._outbox else None

    # How it is done.

    @property
    def _double_ns(self) -> Duration:
        """Whoever has to complain must have the time to: a queue makes round trips longer."""
        return max(self.r_max_ns, _DOUBLE_MIN_NS)

    def _match(self, message: Message) -> list[ControlledFlow]:
        bits = self._encoder.message_bits(message) if self._is_literal else 0
        flows = self.table.match(message, bits)
        return flows if self._start is None else [self._start, *flows]

    def _rematch(self) -> None:
        matched_with = (self.table.version, self._start is not None)
        if matched_with != self._matched_with:
            self._matched_with = matched_with
            if self._outbox:
                self._outbox.rematch(self._match)

    def _end_start(self) -> None:
        self._start = None

    def _on_rtt(self, rtt_ns: Duration) -> None:
        self._peak_ns = max(self._peak_ns, rtt_ns)
        if not self._is_r_known:
            self._is_r_known = True
            self.r_max_ns = rtt_ns
        self.r_max_ns = max(self.r_max_ns, rtt_ns)

    def _end_round(self) -> None:
        """R_max follows the largest that was said, and forgets slowly."""
        if self._peak_ns:
            self.r_max_ns = max(round(_R_MAX_KEPT * self.r_max_ns), self._peak_ns)
        self._peak_ns = 0
