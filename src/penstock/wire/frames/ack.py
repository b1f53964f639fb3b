"""ACK: the limiting receiver of a flow acknowledges each of its messages to the publisher."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.sequence import EPOCH
from penstock.wire.frames.base import TransportFrame, check_count, check_type, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.limits import FLOW_ID_BITS, FLOWS_MAX

# The number of sequence numbers before the last one that an ACK covers.
RECEIVED_BITMAP_BITS: Final = 32


class FlowAck(msgspec.Struct, frozen=True, gc=False):
    """The last received number of a flow; bit i of `received_bitmap` is number flow_seq − 1 − i."""

    flow_id: int
    flow_seq: int
    received_bitmap: int = 0
    # Whether a message with the congestion mark has arrived since the last ACK.
    congestion_experienced: bool = False

    def __post_init__(self) -> None:
        check_unsigned(FLOW_ID_BITS, flow_id=self.flow_id)
        check_unsigned(32, flow_seq=self.flow_seq)
        check_unsigned(RECEIVED_BITMAP_BITS, received_bitmap=self.received_bitmap)
        check_type(bool, congestion_experienced=self.congestion_experienced)


class Ack(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Acknowledges all flows of one message that this receiver limits."""

    subscriber: int
    pub: int
    epoch: int
    flows: tuple[FlowAck, ...]

    def __post_init__(self) -> None:
        check_unsigned(64, subscriber=self.subscriber, pub=self.pub)
        check_unsigned(EPOCH.bits, epoch=self.epoch)
        check_count("flows", self.flows, FLOWS_MAX)
        if not self.flows:
            raise UsageError("an ACK is of one flow or more")

    @property
    def message(self) -> Message:
        """The routing message: the publisher's id."""
        return endpoint_message(self.pub)
