"""ECHO_REP: a publisher's reply to ECHO_REQ."""

from penstock.content.message import Message
from penstock.wire.frames.base import TransportFrame, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.quantise import ECHO_STAMP_BITS, HOLD_BITS, STAMP_BITS


class EchoReply(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Echoes the subscriber's timestamp, and adds the publisher's own."""

    to: int
    pub: int
    send_ts_us: int
    # The subscriber's timestamp, and how long it was held.
    echo_ts_us: int
    hold_100us: int
    # The number of receivers that sent ECHO_REQ recently: as many may send feedback.
    receivers: int = 0

    def __post_init__(self) -> None:
        check_unsigned(64, to=self.to, pub=self.pub)
        check_unsigned(STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(ECHO_STAMP_BITS, echo_ts_us=self.echo_ts_us)
        check_unsigned(HOLD_BITS, hold_100us=self.hold_100us)
        check_unsigned(16, receivers=self.receivers)

    @property
    def message(self) -> Message:
        """The routing message: the subscriber's id."""
        return endpoint_message(self.to)
