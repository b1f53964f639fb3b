"""RECALL: a receiver requests messages from the publisher that only the publisher can identify.

Other endpoints' caches find a message by its id. A receiver that sees a gap in the numbers of a
tracked flow, or of digests, does not know the id.
"""

from itertools import pairwise

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.sequence import EPOCH
from penstock.wire.frames.base import TransportFrame, check_count, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.limits import FLOW_ID_BITS, REQUESTED_RANGES_MAX
from penstock.wire.quantise import STAMP_BITS


class RangeRequest(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Requests messages of a flow, digests by number, or digests of a range of messages."""

    pub: int
    epoch: int
    requester: int
    send_ts_us: int
    # None: ranges of digest numbers. ALL_MESSAGES: ranges of message numbers, of which a digest is
    # requested.
    flow_id: int | None
    # (first, count), ascending and disjoint; they may touch, because a count has only 16 bits.
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        check_unsigned(64, pub=self.pub, requester=self.requester)
        check_unsigned(EPOCH.bits, epoch=self.epoch)
        check_unsigned(STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(FLOW_ID_BITS, flow_id=self.flow_id or 0)
        if not self.ranges:
            raise UsageError("a recall needs a range to ask for")
        check_count("ranges", self.ranges, REQUESTED_RANGES_MAX)
        for first, count in self.ranges:
            check_unsigned(16, count=count)
            if not count:
                raise UsageError(f"a range from {first} of no numbers: leave it out")
            check_unsigned(32, first=first, last=first + count - 1)
        for (first, count), (later, _) in pairwise(self.ranges):
            if first + count > later:
                raise UsageError("ranges must be sorted, and must not overlap")

    @property
    def message(self) -> Message:
        """The routing message: the publisher's id."""
        return endpoint_message(self.pub)
