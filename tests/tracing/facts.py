"""Facts about publisher 1 of `tests.frames`, as an endpoint with the id 2 records them."""

from __future__ import annotations

from typing import Any

from penstock.trace.control_kind import ControlKind
from penstock.transport.congestion.facts import AckSent, EchoSent, FeedbackSent, FlowReport
from penstock.transport.recovery.facts import ControlSent, RepairSent, RequestSent
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from tests.frames import data

# One fact of each type; other frames of the same facts are written in the same way.
CONTROL_FRAMES: dict[ControlKind, ControlSent | EchoSent | AckSent] = {
    ControlKind.DIGEST: ControlSent(
        Digest(pub=1, epoch=1, digest_seq=0, seq=0, send_ts_us=0, sent_before_100us=0)
    ),
    ControlKind.ECHO_REQUEST: EchoSent(EchoRequest(subscriber=2, pub=1, send_ts_us=0)),
    ControlKind.ACK: AckSent(Ack(subscriber=2, pub=1, epoch=1, flows=(FlowAck(1, 1),))),
}


def request(round_: int = 0) -> RequestSent:
    """A request for message 5."""
    return RequestSent(
        Request(
            pub=1, epoch=1, seq=5, requester=2, send_ts_us=0, age_100us=0, delay_100us=0,
            round=round_, is_unicast=False, bloom=1, bloom_bytes=1,
        )
    )  # fmt: skip


def repair(**changed: Any) -> RepairSent:
    """A repair of message 5 that was held for 5 ms, but for what is changed."""
    fields = {"repairer": 3, "requester": 2, "echo_ts_us": 0, "hold_100us": 50}
    return RepairSent(Repair(original=data(5, {"n": 1}), **{**fields, **changed}))


def feedback(*flows: FlowReport) -> FeedbackSent:
    """A report of these flows."""
    requests = tuple(
        FlowRequest(quota_mps=flow.quota_mps, flow_id=i) for i, flow in enumerate(flows)
    )
    frame = Feedback(subscriber=2, pub=1, send_ts_us=0, feedback_round=1, requests=requests)
    return FeedbackSent(frame, 30, 0.25, 10.0, 12.0, flows)
