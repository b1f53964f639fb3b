"""By what a transport frame finds its way: its message, or its bits.

The one place where the overlay looks into what it carries. A network whose
frames say it otherwise gives its broker another `Address`.
"""

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.wire.frames.base import TransportFrame


class RoutingKey:
    """Frames of class DATA have a `message`; those of class REQUEST `bloom`, or a message."""

    __slots__ = ("encoder",)

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def message(self, frame: TransportFrame) -> Message:
        """What the exact predicates of class DATA are asked about."""
        message = getattr(frame, "message", None)
        if not isinstance(message, Message):
            raise PeerError(f"{type(frame).__name__} has no message to be routed by")
        return message

    def request_bits(self, frame: TransportFrame) -> int:
        """The Bloom set of the message that a request asks for.

        [R7] The set itself is the address: to encode it once more would fill
        the filter and flood the network.
        """
        bloom = getattr(frame, "bloom", None)
        if bloom is None:
            return self.encoder.message_bits(self.message(frame))
        if not isinstance(bloom, int) or bloom < 0 or bloom >> self.encoder.params.m:
            raise PeerError(f"the bits of {type(frame).__name__} are not of this network")
        return bloom
