"""DATA: one message with the header that receivers need for ordering and rate control (§3.0)."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.sequence import EPOCH, SEQ
from penstock.wire.frames.base import (
    TransportFrame,
    check_blooms,
    check_count,
    check_type,
    check_unsigned,
)
from penstock.wire.frames.record import EMPTY_RECORD, PublicationRecord
from penstock.wire.limits import FLOW_ID_BITS, FLOWS_MAX
from penstock.wire.quantise import (
    DELTA_BITS,
    ECHO_STAMP_BITS,
    HOLD_BITS,
    RATE_MAX_MPS,
    STAMP_BITS,
    is_rate,
)

# Here, for `check` runs for every message that is sent.
_EPOCH_BITS: Final = EPOCH.bits
_SEQ_BITS: Final = SEQ.bits


class MessageId(NamedTuple):
    """Identifies a message in the whole network; `epoch` is new whenever its publisher restarts."""

    pub: int
    epoch: int
    seq: int


class FlowAnnouncement(msgspec.Struct, frozen=True, gc=False):
    """Lets receivers of a flow suppress feedback: its limiting receiver (CLR) and its Bloom set."""

    clr: int
    bloom: int
    bloom_bytes: int

    def __post_init__(self) -> None:
        check_unsigned(32, clr=self.clr)
        check_blooms(self.bloom_bytes, self.bloom)


class FlowTag(msgspec.Struct, frozen=True, gc=False):
    """A flow of the message; `announcement` is on the flow's first message of a feedback round."""

    flow_id: int
    quota_mps: float
    flow_seq: int
    announcement: FlowAnnouncement | None = None

    def __post_init__(self) -> None:
        # One expression for the common case: a message has several flows.
        if self.flow_id >> FLOW_ID_BITS or self.flow_seq >> 32 or not is_rate(self.quota_mps):
            check_unsigned(FLOW_ID_BITS, flow_id=self.flow_id)
            check_unsigned(32, flow_seq=self.flow_seq)
            check_rate(quota_mps=self.quota_mps)


class Echo(msgspec.Struct, frozen=True, gc=False):
    """Echoes a receiver's timestamp, with the time it was held, so that it can measure its RTT."""

    receiver: int
    echo_ts_us: int
    hold_100us: int

    def __post_init__(self) -> None:
        check_unsigned(64, receiver=self.receiver)
        check_unsigned(ECHO_STAMP_BITS, echo_ts_us=self.echo_ts_us)
        check_unsigned(HOLD_BITS, hold_100us=self.hold_100us)


class Data(TransportFrame, frozen=True, kw_only=True, gc=False):
    """One message and its transport header.

    Unlike other frames it is not validated when built, which happens for every received message,
    but when it is measured or encoded: see `check`.
    """

    pub: int
    epoch: int
    seq: int
    # Send time, after any wait for tokens, and the time since the previous message was sent.
    send_ts_us: int
    since_previous_100us: int
    # λ: the publisher's actual send rate over all flows.
    send_rate_mps: float
    # See quantise.decode_round_trip_ns.
    max_round_trip_code: int
    feedback_round: int
    message: Message
    flows: tuple[FlowTag, ...] = ()
    echo: Echo | None = None
    record: PublicationRecord = EMPTY_RECORD
    # Whether record entries are Bloom sets instead of fingerprints.
    has_bloom_entries: bool = False
    # Whether the message passed through an overfull queue of the network.
    congestion_experienced: bool = False

    @property
    def id(self) -> MessageId:
        """The network-wide id of this message."""
        return MessageId(self.pub, self.epoch, self.seq)

    def check(self) -> None:
        """Refuses values that do not fit the header."""
        # One expression for the common case: this runs for every message sent.
        if (
            self.pub >> 64
            or self.epoch >> _EPOCH_BITS
            or self.seq >> _SEQ_BITS
            or self.send_ts_us >> STAMP_BITS
            or self.since_previous_100us >> DELTA_BITS
            or self.max_round_trip_code >> 8
            or self.feedback_round >> 8
            or len(self.flows) > FLOWS_MAX
            or type(self.has_bloom_entries) is not bool
            or not is_rate(self.send_rate_mps)
        ):
            self._check_fields()

    def _check_fields(self) -> None:
        check_unsigned(64, pub=self.pub)
        check_unsigned(_EPOCH_BITS, epoch=self.epoch)
        check_unsigned(_SEQ_BITS, seq=self.seq)
        check_unsigned(STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(DELTA_BITS, since_previous_100us=self.since_previous_100us)
        check_unsigned(
            8, max_round_trip_code=self.max_round_trip_code, feedback_round=self.feedback_round
        )
        check_count("flows", self.flows, FLOWS_MAX)
        check_type(bool, has_bloom_entries=self.has_bloom_entries)
        check_rate(send_rate_mps=self.send_rate_mps)


def check_rate(**fields: float) -> None:
    """Refuses rates that a half-precision number cannot represent."""
    for name, rate_mps in fields.items():
        if not is_rate(rate_mps):
            raise UsageError(
                f"{name} must be a half-precision number from 0 to {RATE_MAX_MPS:.0f},"
                f" as quantise_rate makes them, not {rate_mps}"
            )
