"""HELLO: liveness of brokers and clients, sent between neighbours and between client and broker."""

from typing import Final

from penstock.wire.frames.base import OverlayFrame, check_type, check_unsigned

# The broker id of clients.
CLIENT: Final = 0


class Hello(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """`epoch` is new after a restart; `network` identifies the encoding both ends must share."""

    # CLIENT for a client.
    broker: int
    epoch: int
    network: int
    # Whether the sender hears the receiver: a link is up when it works in both directions.
    heard: bool

    def __post_init__(self) -> None:
        check_unsigned(32, broker=self.broker, network=self.network)
        check_unsigned(16, epoch=self.epoch)
        check_type(bool, heard=self.heard)
