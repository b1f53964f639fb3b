"""ECHO_REQ: lets a receiver that has just joined measure its round trip."""

from penstock.content.message import Message
from penstock.wire.frames.base import TransportFrame, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.quantise import ECHO_STAMP_BITS


class EchoRequest(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Requests an echo of the timestamp from a publisher."""

    subscriber: int
    pub: int
    send_ts_us: int
    # The round trip, if it was measured before; see quantise.decode_round_trip_ns.
    round_trip_code: int | None = None

    def __post_init__(self) -> None:
        check_unsigned(64, subscriber=self.subscriber, pub=self.pub)
        check_unsigned(ECHO_STAMP_BITS, send_ts_us=self.send_ts_us)
        check_unsigned(8, round_trip_code=self.round_trip_code or 0)

    @property
    def message(self) -> Message:
        """The routing message: the publisher's id."""
        return endpoint_message(self.pub)
