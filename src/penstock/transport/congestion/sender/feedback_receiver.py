"""Handles FEEDBACK, ACK and ECHO_REQ at the publisher.

1. Frames beyond the rate limits (see `feedback_limits`), or about flows of another limiting
   receiver, are refused.
2. Accepted quotas go into the flow table.
3. The timestamp of a limiting receiver is echoed with the next message of its flow.

Does not know which messages are queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock.content.tags import Encoder
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.transport.congestion.sender.feedback_limits import (
    ACKS_UNKNOWN,
    FEEDBACK_FLOORED,
    FEEDBACK_UNKNOWN,
    FLOWS_REFUSED,
    FeedbackLimits,
    capped_round_trip_ns,
)
from penstock.transport.congestion.sender.feedback_rounds import FeedbackRounds
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.flow_table import FlowTable
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.data import Echo
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import decode_round_trip_ns, hold_100us

_PENDING_ECHOES_MAX: Final = 4_096


class _PendingEcho(NamedTuple):
    receiver: int
    stamp_us: int
    received_ns: Instant


class FeedbackReceiver:
    """Applies the feedback of all receivers to the flow table of one publisher."""

    def __init__(
        self, settings: CongestionSettings, encoder: Encoder, counters: dict[str, int]
    ) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self._encoder: Final = encoder
        self._counters: Final = counters
        self.flow_table: Final = FlowTable(settings)
        self.rounds: Final = FeedbackRounds()
        self.limits: Final = FeedbackLimits(counters)
        # Whether any receiver has ever limited a flow.
        self.has_feedback = False
        # Timestamps to echo, by flow id.
        self._pending_echoes: Final[BoundedDict[int, _PendingEcho]] = BoundedDict(
            _PENDING_ECHOES_MAX
        )

    @property
    def pending_echoes(self) -> int:
        """Stamps that wait to be given back."""
        return len(self._pending_echoes)

    def take_echo(self, flow_id: int, now: Instant) -> Echo | None:
        """Remove and return the pending echo of a flow's limiting receiver, if any."""
        pending = self._pending_echoes.pop(flow_id, None)
        if pending is None:
            return None
        return Echo(pending.receiver, pending.stamp_us, hold_100us(now - pending.received_ns))

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """Apply the quotas that a receiver requests, or release its flows."""
        receiver = feedback.subscriber
        is_known = self._is_literal or self.flow_table.has_flows_of(receiver)
        if not self._is_literal and not self.limits.admits_report(receiver, now, is_known=is_known):
            return
        self._counters["feedback"] += 1
        rtt_ns = None
        if feedback.round_trip_code is not None:
            rtt_ns = capped_round_trip_ns(decode_round_trip_ns(feedback.round_trip_code))
        for request in _without_repeats(feedback.requests):
            if request.bloom_bytes and not self._is_literal:
                # Only the literal law matches messages with Bloom sets.
                self.limits.refuse(receiver, FEEDBACK_UNKNOWN)
                continue
            if request.flow_id is None and not self._admits_request(
                receiver, now, is_known=is_known
            ):
                continue
            if rtt_ns is not None:
                self.rounds.on_rtt(rtt_ns)
            if feedback.is_leave:
                if not self.flow_table.release(
                    request.flow_id, request.filter, self._bloom_bits(request), receiver
                ):
                    self.limits.refuse(receiver, FEEDBACK_UNKNOWN)
                continue
            flow = self._apply(request, receiver, now)
            if flow is not None:
                self.has_feedback = True
                flow.rtt_ns = self.rounds.max_round_trip_ns if rtt_ns is None else rtt_ns
                self._pending_echoes[flow.id] = _PendingEcho(receiver, feedback.send_ts_us, now)

    def _admits_request(self, receiver: int, now: Instant, *, is_known: bool) -> bool:
        return self._is_literal or self.limits.admits_request(receiver, now, is_known=is_known)

    def _apply(self, request: FlowRequest, receiver: int, now: Instant) -> ControlledFlow | None:
        """Apply one request; return the flow if the receiver limits it now."""
        if request.quota_mps < self._settings.rate_min_mps:
            self.limits.refuse(receiver, FEEDBACK_FLOORED)
        quota_mps, bits = request.quota_mps, 0
        if request.flow_id is None:
            bits = self._bloom_bits(request)
            flow = self.flow_table.owned_by(request.filter, bits, receiver)
        else:
            flow = self.flow_table.get(request.flow_id)
        if flow is not None and flow.clr == receiver and not self._is_literal:
            quota_mps = flow.accepted_quota(quota_mps, now)
        if request.flow_id is not None:
            if self.flow_table.renew(request.flow_id, receiver, quota_mps, now):
                return flow
            self.limits.refuse(receiver, FEEDBACK_UNKNOWN)
            return None
        refused_before = self.flow_table.refused_flows
        flow = self.flow_table.request(request.filter, bits, receiver, quota_mps, now)
        if self.flow_table.refused_flows > refused_before:
            self.limits.refuse(receiver, FLOWS_REFUSED)
        return flow

    def _bloom_bits(self, request: FlowRequest) -> int:
        if request.filter is None:
            return request.bloom
        return self._encoder.filter_bits(request.filter)

    def on_ack(self, ack: Ack, now: Instant) -> None:
        """Apply the acknowledgements of a limiting receiver."""
        self._counters["acks"] += 1
        for flow_ack in ack.flows:
            if not self.flow_table.on_ack(flow_ack, ack.subscriber, now):
                self.limits.refuse(ack.subscriber, ACKS_UNKNOWN)

    def on_echo_request(self, request: EchoRequest, now: Instant) -> int | None:
        """Read the round trip in an echo request; return the receiver count for the reply.

        None if the request gets no reply.
        """
        if not self.limits.admits_echo(request.subscriber, now):
            return None
        if request.round_trip_code is not None:
            self.rounds.on_rtt(capped_round_trip_ns(decode_round_trip_ns(request.round_trip_code)))
        return self.limits.receiver_count


def _without_repeats(requests: Sequence[FlowRequest]) -> Iterator[FlowRequest]:
    """The requests, without all but the first for the same flow id."""
    seen = set()
    for request in requests:
        if request.flow_id is None or request.flow_id not in seen:
            seen.add(request.flow_id)
            yield request
