"""TRACKED: a publisher's reply to TRACK."""

from penstock.content.limits import FILTERS_MAX
from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.sequence import EPOCH
from penstock.wire.frames.base import TransportFrame, check_count, check_type, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.limits import FLOW_ID_BITS
from penstock.wire.quantise import ECHO_STAMP_BITS, HOLD_BITS


class TrackReply(TransportFrame, frozen=True, kw_only=True, gc=False):
    """The flows in which the publisher numbers the messages that `token` requested."""

    to: int
    pub: int
    epoch: int
    token: int
    # The subscriber's timestamp, and how long it was held.
    echo_ts_us: int
    hold_100us: int
    # Whether the publisher knows the token; if not, the subscriber must send the predicate.
    token_is_known: bool = True
    # The subscribers of the largest of these flows.
    group_size: int = 0
    # For each filter, in order, the flow and its last number so far, as (flow_id, flow_seq); None
    # if it is refused. Empty if TRACK had no predicate.
    flows: tuple[tuple[int, int] | None, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(64, to=self.to, pub=self.pub)
        check_unsigned(EPOCH.bits, epoch=self.epoch)
        check_unsigned(16, token=self.token, group_size=self.group_size)
        check_unsigned(ECHO_STAMP_BITS, echo_ts_us=self.echo_ts_us)
        check_unsigned(HOLD_BITS, hold_100us=self.hold_100us)
        check_type(bool, token_is_known=self.token_is_known)
        check_count("flows", self.flows, FILTERS_MAX)
        if self.flows and not self.token_is_known:
            raise UsageError("what is not known has no flows: leave them out")
        for flow in self.flows:
            if flow is not None:
                check_unsigned(FLOW_ID_BITS, flow_id=flow[0])
                check_unsigned(32, flow_seq=flow[1])

    @property
    def message(self) -> Message:
        """The routing message: the subscriber's id."""
        return endpoint_message(self.to)
