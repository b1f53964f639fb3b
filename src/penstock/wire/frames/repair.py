"""REPAIR: a retransmitted message from a cache, in reply to a REQUEST (§3.4)."""

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import TransportFrame, check_unsigned
from penstock.wire.frames.control_routing import endpoint_message
from penstock.wire.frames.data import Data
from penstock.wire.quantise import ECHO_STAMP_BITS, HOLD_BITS


class Repair(TransportFrame, frozen=True, kw_only=True, gc=False):
    """The original without its record and echo, which are out of date by now."""

    original: Data
    repairer: int
    # Echoes the requester's timestamp, with the time it was held; others see that it is not theirs.
    requester: int
    echo_ts_us: int
    hold_100us: int
    # The endpoint that it is for; None for all subscribers to the message.
    to: int | None = None

    def __post_init__(self) -> None:
        original = self.original
        original.check()
        if original.record.count or original.echo is not None or original.has_bloom_entries:
            raise UsageError(
                "a repair has no record and no echo: leave them, and has_bloom_entries, out"
            )
        check_unsigned(64, repairer=self.repairer, requester=self.requester, to=self.to or 0)
        check_unsigned(ECHO_STAMP_BITS, echo_ts_us=self.echo_ts_us)
        check_unsigned(HOLD_BITS, hold_100us=self.hold_100us)

    @property
    def message(self) -> Message:
        """The routing message: the original, or the receiver's id."""
        return self.original.message if self.to is None else endpoint_message(self.to)
