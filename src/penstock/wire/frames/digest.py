"""DIGEST: a publisher's recent messages, for receivers that get few of them (§3.4)."""

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.sequence import EPOCH, SEQ
from penstock.wire.frames.base import (
    TransportFrame,
    check_ascending,
    check_count,
    check_unsigned,
)
from penstock.wire.frames.control_routing import digest_message, endpoint_message
from penstock.wire.frames.record import EMPTY_RECORD, PublicationRecord
from penstock.wire.limits import DIGEST_FLOWS_MAX, ENTRY_BYTES_MAX, FLOW_ID_BITS
from penstock.wire.quantise import DELTA_BITS, STAMP_BITS


class Digest(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Describes message `seq` and those just before it; digests have their own sequence numbers.

    There is no carrying message: `base` describes message `seq` by itself, and the entries of
    `record` refer to it. Entry i describes message seq - 1 - i and says how long before message
    `seq` that one was sent. A digest without a base describes no message.
    """

    pub: int
    epoch: int
    digest_seq: int
    seq: int
    send_ts_us: int
    # How long before the digest message `seq` was sent.
    sent_before_100us: int
    base: bytes = b""
    record: PublicationRecord = EMPTY_RECORD
    # The last number of each tracked flow, as (flow_id, flow_seq), sorted.
    flows: tuple[tuple[int, int], ...] = ()
    # The endpoint that it is for; None for all subscribers of this publisher's digests.
    to: int | None = None
    # Whether it includes everything in the previous digest, so that nobody needs that one.
    covers_previous: bool = False
    # Whether it replies to a request for past messages; then `digest_seq` is not a new number.
    is_reply: bool = False

    def __post_init__(self) -> None:
        check_unsigned(64, pub=self.pub, to=self.to or 0)
        check_unsigned(EPOCH.bits, epoch=self.epoch)
        check_unsigned(SEQ.bits, digest_seq=self.digest_seq, seq=self.seq)
        check_unsigned(STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(DELTA_BITS, sent_before_100us=self.sent_before_100us)
        if len(self.base) > ENTRY_BYTES_MAX:
            raise UsageError(f"a base has at most {ENTRY_BYTES_MAX} bytes, not {len(self.base)}")
        if self.record.count and not self.base:
            raise UsageError("a digest's record refers to its base: give one, or no record")
        check_count("flows", self.flows, DIGEST_FLOWS_MAX)
        check_ascending("flows", [flow_id for flow_id, _ in self.flows])
        for flow_id, flow_seq in self.flows:
            check_unsigned(FLOW_ID_BITS, flow_id=flow_id)
            check_unsigned(32, flow_seq=flow_seq)

    @property
    def count(self) -> int:
        """The number of messages described."""
        return self.record.count + (self.base != b"")

    @property
    def message(self) -> Message:
        """The routing message: the publisher's or the receiver's id."""
        return digest_message(self.pub) if self.to is None else endpoint_message(self.to)
