"""REQUEST: a receiver asking whoever has it for a message that it lost (§3.4)."""

from penstock.content.message import Message
from penstock.kernel.sequence import EPOCH, SEQ
from penstock.wire.frames.base import TransportFrame, check_blooms, check_type, check_unsigned
from penstock.wire.frames.control_routing import request_message
from penstock.wire.frames.data import MessageId
from penstock.wire.quantise import DELTA_BITS, STAMP_BITS


class Request(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Names the message, and describes it by the Bloom set that the request is routed by."""

    pub: int
    epoch: int
    seq: int
    requester: int
    send_ts_us: int
    # How long before the request the message itself left.
    age_100us: int
    # How long this requester waits before it asks, on average: others learn how far it is.
    delay_100us: int
    # Which round of asking this is, from 0.
    round: int
    # Whether it wants the answer for itself alone.
    is_unicast: bool
    bloom: int
    bloom_bytes: int
    # Who is to answer at once, before anyone else would; None for nobody.
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
        """Of the message that is asked for."""
        return MessageId(self.pub, self.epoch, self.seq)

    @property
    def message(self) -> Message:
        """What routes it where requests are no class of their own."""
        return request_message(self.bloom)
