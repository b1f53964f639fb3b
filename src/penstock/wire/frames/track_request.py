"""TRACK: a subscriber requests a publisher to number or digest messages for it.

Records cannot describe some filters, such as ranges. Losses of such messages show only as gaps in
the numbers of a flow that the publisher matches exactly.
"""

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.wire.frames.base import TransportFrame, check_type, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.quantise import ECHO_STAMP_BITS


class TrackRequest(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Valid for as long as it is repeated; the subscriber chooses the token."""

    subscriber: int
    pub: int
    token: int
    send_ts_us: int
    # Whether the subscriber receives digests.
    is_digest_subscription: bool = False
    # Whether this ends the request.
    is_end: bool = False
    # The messages to number as a flow of their own; None for none.
    predicate: Predicate | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, subscriber=self.subscriber, pub=self.pub)
        check_unsigned(16, token=self.token)
        check_unsigned(ECHO_STAMP_BITS, send_ts_us=self.send_ts_us)
        check_type(bool, is_digest_subscription=self.is_digest_subscription, is_end=self.is_end)

    @property
    def message(self) -> Message:
        """The routing message: the publisher's id."""
        return endpoint_message(self.pub)
