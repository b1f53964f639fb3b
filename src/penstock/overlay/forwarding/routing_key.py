"""The routing key of a transport frame: its message or its Bloom set.

The only place where the overlay inspects a carried frame. A network with other transport frames
gives its brokers another `RoutingKey`.
"""

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.wire.frames.base import TransportFrame


class RoutingKey:
    """Frames of class DATA have a `message`; those of class REQUEST have `bloom`, or a message."""

    __slots__ = ("encoder",)

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def message(self, frame: TransportFrame) -> Message:
        """The message that exact predicates of class DATA are matched against."""
        message = getattr(frame, "message", None)
        if not isinstance(message, Message):
            raise PeerError(f"{type(frame).__name__} has no message to be routed by")
        return message

    def request_bits(self, frame: TransportFrame) -> int:
        """The Bloom set of the requested message.

        [R7] The set is itself the routing key: encoding it again would saturate the filter and
        flood the network.
        """
        bloom = getattr(frame, "bloom", None)
        if bloom is None:
            return self.encoder.message_bits(self.message(frame))
        if not isinstance(bloom, int) or bloom < 0 or bloom >> self.encoder.params.m:
            raise PeerError(f"the bits of {type(frame).__name__} are not of this network")
        return bloom
