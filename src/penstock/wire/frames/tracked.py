"""TRACKED: a publisher's answer to TRACK."""

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.wire.frames.addresses import unicast
from penstock.wire.frames.base import TransportFrame, check_unsigned
from penstock.wire.limits import FLOW_ID_BITS
from penstock.wire.quantise import ECHO_STAMP_BITS, HOLD_BITS
from penstock.wire.serial import EPOCH_BITS


class Tracked(TransportFrame, frozen=True, kw_only=True, gc=False):
    """Says by which flow the publisher numbers what the subscriber asked for with `token`."""

    to: int
    pub: int
    epoch: int
    token: int
    # The subscriber's own stamp, and how long it was held.
    echo_ts_us: int
    hold_100us: int
    # None if the publisher refuses.
    flow_id: int | None
    # The last number that was given so far.
    flow_seq: int = 0

    def __post_init__(self) -> None:
        check_unsigned(64, to=self.to, pub=self.pub)
        check_unsigned(EPOCH_BITS, epoch=self.epoch)
        check_unsigned(16, token=self.token)
        check_unsigned(ECHO_STAMP_BITS, echo_ts_us=self.echo_ts_us)
        check_unsigned(HOLD_BITS, hold_100us=self.hold_100us)
        check_unsigned(FLOW_ID_BITS, flow_id=self.flow_id or 0)
        check_unsigned(32, flow_seq=self.flow_seq)
        if self.flow_id is None and self.flow_seq:
            raise UsageError("what is refused has no flow and no numbers: leave flow_seq at 0")

    @property
    def message(self) -> Message:
        """What routes it: the subscriber's name."""
        return unicast(self.to)
