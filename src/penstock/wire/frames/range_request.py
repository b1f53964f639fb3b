"""RECALL: a receiver asking a publisher itself for what only the publisher can name.

Someone else's cache finds a message by its id. A receiver that sees a hole in the
numbers of a flow, or of the digests, does not know the id.
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
    """Asks for the messages of a flow, for digests by their numbers, or by what they tell of."""

    pub: int
    epoch: int
    requester: int
    send_ts_us: int
    # None: the numbers are those of digests. EVERY_MESSAGE: they are those of messages, of which
    # a digest is wanted.
    flow_id: int | None
    # As (first, count), ascending and apart; they may touch, for a count is short.
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
        """What routes it: the publisher's name."""
        return endpoint_message(self.pub)
