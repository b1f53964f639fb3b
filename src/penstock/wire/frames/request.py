"""REQUEST: a receiver requests a lost message from any endpoint that has it (§3.4)."""

from penstock.content.message import Message
from penstock.kernel.sequence import EPOCH, SEQ
from penstock.wire.frames.base import TransportFrame, check_blooms, check_type, check_unsigned
from penstock.wire.frames.control_routing import request_message
from penstock.wire.frames.data import MessageId
from penstock.wire.quantise import DELTA_BITS, STAMP_BITS


class Request(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Identifies the message; the request is routed by the message's Bloom set."""

    pub: int
    epoch: int
    seq: int
    requester: int
    send_ts_us: int
    # How long before the request the message was sent.
    age_100us: int
    # The requester's mean delay before a request, from which others estimate its distance.
    delay_100us: int
    # The retry round, from 0.
    round: int
    # Whether the reply should go to the requester alone.
    is_unicast: bool
    bloom: int
    bloom_bytes: int
    # The endpoint that should repair at once, before any other; None for no such endpoint.
    designated_repairer: int | None = None

    def __post_init__(self) -> None:
        check_unsigned(
            64,
            pub=self.pub,
            requester=self.requester,
            designated_repairer=self.designated_repairer or 0,
        )
        check_unsigned(EPOCH.bits, epoch=self.epoch)
        check_unsigned(SEQ.bits, seq=self.seq)
        check_unsigned(STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(DELTA_BITS, age_100us=self.age_100us, delay_100us=self.delay_100us)
        check_unsigned(8, round=self.round)
        check_type(bool, is_unicast=self.is_unicast)
        check_blooms(self.bloom_bytes, self.bloom)

    @property
    def id(self) -> MessageId:
        """The id of the requested message."""
        return MessageId(self.pub, self.epoch, self.seq)

    @property
    def message(self) -> Message:
        """The routing message, for networks without a traffic class for requests."""
        return request_message(self.bloom)
