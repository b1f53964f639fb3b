"""What congestion control tells of itself, for the trace."""

from __future__ import annotations

import msgspec

from penstock.kernel.instant import Duration
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback


class FlowReport(msgspec.Struct, frozen=True, gc=False):
    """Of one flow: what comes of it, and what may."""

    flow: str
    rate_mps: float
    quota_mps: float
    is_limiting: bool


class FlowState(msgspec.Struct, frozen=True, gc=False):
    """One flow of a publisher: who limits it, if anybody, and what leaves of it."""

    id: int
    flow: str
    limited_by: int | None
    quota_mps: float
    # The number of the last message of it that left.
    seq: int
    queued: int


class FeedbackSent(msgspec.Struct, frozen=True, gc=False):
    """Feedback that left, and what it was reckoned from."""

    frame: Feedback
    rtt_ns: Duration
    loss_event_rate: float
    received_mps: float
    allowed_mps: float
    flows: tuple[FlowReport, ...]


class EchoSent(msgspec.Struct, frozen=True, gc=False):
    """What was said to learn of a round trip."""

    frame: EchoRequest | EchoReply


class AckSent(msgspec.Struct, frozen=True, gc=False):
    """Messages of flows that we limit have come."""

    frame: Ack
