"""TRACK: a subscriber asking a publisher to number, or to digest, what a record cannot tell.

Of a range, for one, an entry says nothing: such losses are seen only by the
numbers of a flow that the publisher matches exactly.
"""

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.wire.frames.base import TransportFrame, check_type, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.quantise import ECHO_STAMP_BITS


class TrackRequest(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Asks for as long as it is repeated; the subscriber chooses the token."""

    subscriber: int
    pub: int
    token: int
    send_ts_us: int
    # Whether the subscriber listens to digests.
    is_digest_subscription: bool = False
    # Whether this is the last of it.
    is_end: bool = False
    # What is to be numbered apart from all else; None for nothing.
    predicate: Predicate | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, subscriber=self.subscriber, pub=self.pub)
        check_unsigned(16, token=self.token)
        check_unsigned(ECHO_STAMP_BITS, send_ts_us=self.send_ts_us)
        check_type(bool, is_digest_subscription=self.is_digest_subscription, is_end=self.is_end)

    @property
    def message(self) -> Message:
        """What routes it: the publisher's name."""
        return endpoint_message(self.pub)
