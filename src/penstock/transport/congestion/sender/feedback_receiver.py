"""The publisher's ear: what receivers say of its flows, and whom of them it believes.

1. Whoever speaks too often, or of flows that are another's, is refused (see `gate`).
2. What somebody limits is put in the `table`.
3. Its stamp is kept, and goes back with the next message of that flow.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.transport.congestion.sender.feedback_limits import (
    ACKS,
    FLOORED,
    FLOWS,
    UNKNOWN,
    Gate,
    believed_ns,
)
from penstock.transport.congestion.sender.feedback_rounds import Rounds
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.flow_table import FlowTable
from penstock.transport.congestion.settings import CongestionSettings
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.data import Echo
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import hold_100us, r_max_ns

_STAMPS_MAX: Final = 4_096


class _Stamp(NamedTuple):
    receiver: int
    stamp_us: int
    came_ns: Instant


class Listener:
    """Of one publisher."""

    def __init__(
        self, settings: CongestionSettings, encoder: Encoder, counters: dict[str, int]
    ) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        self._encoder: Final = encoder
        self._counters: Final = counters
        self.table: Final = FlowTable(settings)
        self.rounds: Final = Rounds()
        self.gate: Final = Gate(counters)
        # Whether somebody limits a flow, or did.
        self.is_told = False
        # Stamps to give back, by the flow that they are of.
        self._stamps: Final[OrderedDict[int, _Stamp]] = OrderedDict()

    def echo_of(self, flow_id: int, now: Instant) -> Echo | None:
        """The stamp of who limits this flow, once."""
        stamp = self._stamps.pop(flow_id, None)
        if stamp is None:
            return None
        return Echo(stamp.receiver, stamp.stamp_us, hold_100us(now - stamp.came_ns))

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """A receiver says how much of what may come."""
        who = feedback.subscriber
        is_known = self._is_literal or self.table.has_flows_of(who)
        if not self._is_literal and not self.gate.hears(who, now, is_known=is_known):
            return
        self._counters["feedback"] += 1
        rtt_ns = None
        if feedback.r_code is not None:
            rtt_ns = believed_ns(r_max_ns(feedback.r_code))
        for request in _once_each(feedback.requests):
            if request.bloom_bytes and not self._is_literal:
                # No message could be matched with it.
                self.gate.refuse(who, UNKNOWN)
                continue
            if request.flow_id is None and not self._may_ask(who, now, is_known=is_known):
                continue
            if rtt_ns is not None:
                self.rounds.on_rtt(rtt_ns)
            if feedback.is_leave:
                if not self.table.leave(request.flow_id, request.filter, self._bits(request), who):
                    self.gate.refuse(who, UNKNOWN)
                continue
            flow = self._limited(request, who, now)
            if flow is not None:
                self.is_told = True
                flow.rtt_ns = self.rounds.r_max_ns if rtt_ns is None else rtt_ns
                self._stamps[flow.id] = _Stamp(who, feedback.send_ts_us, now)
                if len(self._stamps) > _STAMPS_MAX:
                    self._stamps.popitem(last=False)

    def _may_ask(self, who: int, now: Instant, *, is_known: bool) -> bool:
        return self._is_literal or self.gate.asks(who, now, is_known=is_known)

    def _limited(self, request: FlowRequest, who: int, now: Instant) -> ControlledFlow | None:
        """The flow that it limits, if it does."""
        if request.quota_mps < self._settings.rate_min_mps:
            self.gate.refuse(who, FLOORED)
        quota_mps, bits = request.quota_mps, 0
        if request.flow_id is None:
            bits = self._bits(request)
            flow = self.table.of(request.filter, bits, who)
        else:
            flow = self.table.get(request.flow_id)
        if flow is not None and flow.clr == who and not self._is_literal:
            quota_mps = flow.believed(quota_mps, now)
        if request.flow_id is not None:
            if self.table.ask_again(request.flow_id, who, quota_mps, now):
                return flow
            self.gate.refuse(who, UNKNOWN)
            return None
        refused = self.table.refused
        flow = self.table.ask(request.filter, bits, who, quota_mps, now)
        if self.table.refused > refused:
            self.gate.refuse(who, FLOWS)
        return flow

    def _bits(self, request: FlowRequest) -> int:
        if request.filter is None:
            return request.bloom
        return self._encoder.filter_bits(request.filter)

    def on_ack(self, ack: Ack, now: Instant) -> None:
        """Who limits flows tells what of them came."""
        self._counters["acks"] += 1
        for each in ack.flows:
            if not self.table.acknowledge(each, ack.subscriber, now):
                self.gate.refuse(ack.subscriber, ACKS)

    def on_echo_request(self, request: EchoRequest, now: Instant) -> int | None:
        """A receiver that has joined may say how far away it is; returns how many there are.

        None if it gets no answer.
        """
        if not self.gate.echoes(request.subscriber, now):
            return None
        if request.r_code is not None:
            self.rounds.on_rtt(believed_ns(r_max_ns(request.r_code)))
        return self.gate.receivers


def _once_each(requests: Sequence[FlowRequest]) -> Iterator[FlowRequest]:
    """Of each flow that is named by its number the first, however often it is named."""
    named = set()
    for request in requests:
        if request.flow_id is None or request.flow_id not in named:
            named.add(request.flow_id)
            yield request
