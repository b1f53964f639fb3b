"""FEEDBACK: a receiver reports to a publisher the rate it sustains for each filter (§3.5)."""

from __future__ import annotations

import msgspec

from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import (
    TransportFrame,
    check_blooms,
    check_count,
    check_type,
    check_unsigned,
)
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.frames.data import check_rate
from penstock.wire.limits import FEEDBACK_FLOWS_MAX, FLOW_ID_BITS
from penstock.wire.quantise import ECHO_STAMP_BITS


class FlowRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A flow, given by its id, its filter or, in literal mode, a Bloom set; and its rate."""

    quota_mps: float
    flow_id: int | None = None
    filter: Filter | None = None
    bloom: int = 0
    bloom_bytes: int = 0

    def __post_init__(self) -> None:
        check_rate(quota_mps=self.quota_mps)
        ways = (self.flow_id is not None, self.filter is not None, self.bloom_bytes > 0)
        if sum(ways) != 1:
            raise UsageError("a flow is named by its number, by a filter or by a Bloom set")
        if self.flow_id is not None:
            check_unsigned(FLOW_ID_BITS, flow_id=self.flow_id)
        if self.bloom_bytes:
            check_blooms(self.bloom_bytes, self.bloom)


class Feedback(TransportFrame, frozen=True, kw_only=True, gc=False):
    """The rates that a receiver requests for all its flows."""

    subscriber: int
    pub: int
    send_ts_us: int
    feedback_round: int
    # The round trip, see quantise.decode_round_trip_ns; None before it is measured.
    round_trip_code: int | None = None
    # Whether the receiver has had any loss yet.
    has_loss: bool = False
    # Whether the receiver leaves these flows.
    is_leave: bool = False
    requests: tuple[FlowRequest, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(64, subscriber=self.subscriber, pub=self.pub)
        check_unsigned(ECHO_STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(
            8, feedback_round=self.feedback_round, round_trip_code=self.round_trip_code or 0
        )
        check_type(bool, has_loss=self.has_loss, is_leave=self.is_leave)
        check_count("requests", self.requests, FEEDBACK_FLOWS_MAX)

    @property
    def message(self) -> Message:
        """The routing message: the publisher's id."""
        return endpoint_message(self.pub)
