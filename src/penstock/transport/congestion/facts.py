"""Facts that congestion control emits for the trace; they do not change what it does."""

from __future__ import annotations

import msgspec

from penstock.kernel.instant import Duration
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback


class FlowReport(msgspec.Struct, frozen=True, gc=False):
    """One flow in a feedback frame: its received rate and its quota."""

    flow: str
    rate_mps: float
    quota_mps: float
    is_limiting: bool


class FlowState(msgspec.Struct, frozen=True, gc=False):
    """One flow of a publisher; `limited_by` is None without a limiting receiver."""

    id: int
    flow: str
    limited_by: int | None
    quota_mps: float
    # The flow sequence number of the last message sent.
    seq: int
    queued: int


class FeedbackSent(msgspec.Struct, frozen=True, gc=False):
    """A feedback frame that was sent, and the measurements behind it."""

    frame: Feedback
    rtt_ns: Duration
    loss_event_rate: float
    received_mps: float
    allowed_mps: float
    flows: tuple[FlowReport, ...]


class EchoSent(msgspec.Struct, frozen=True, gc=False):
    """An echo request or reply that was sent to measure a round trip."""

    frame: EchoRequest | EchoReply


class AckSent(msgspec.Struct, frozen=True, gc=False):
    """An acknowledgement of messages of the flows that this receiver limits."""

    frame: Ack
