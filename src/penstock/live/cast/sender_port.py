"""The one port of a receiver: which sender it follows, and what it makes of others."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.kernel.machine import Port
from penstock.live.cast.cast_keys import NO_KEYS, CastKeys
from penstock.live.cast.datagram_trains import Address, DatagramTrains
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.neighbours import Beacon

SENDER_PORT: Final = "up"


class SenderPort:
    """Leads to the first sender with our keys that was heard, until it is dropped."""

    def __init__(
        self, socket: DatagramTrains, keys: CastKeys, attach: Callable[[Address], None]
    ) -> None:
        self._socket: Final = socket
        self._keys: Final = keys
        self._attach: Final = attach
        self._plain_codec: Final = CastCodec(Blake2Sealer(NO_KEYS.domain_key()))
        self.sender: Address | None = None
        self.heard_at = 0.0
        self.attached_at = 0.0
        # Why the casts that are heard are none of ours; empty: none is heard.
        self.others = ""

    def port_from(self, frame: CastFrame, address: Address) -> Port | None:
        """Frames of other senders are not for us."""
        if (
            self.sender is None
            and isinstance(frame, Beacon)
            and frame.domain == self._keys.domain()
        ):
            self.sender = address
            self.attached_at = monotonic()
            self._attach(address)
        if address != self.sender:
            return None
        self.heard_at = monotonic()
        return SENDER_PORT

    def way_to(self, _port: Port, _frame: CastFrame) -> tuple[DatagramTrains, Address]:
        """To the sender alone."""
        assert self.sender is not None
        return self._socket, self.sender

    def on_unreadable(self, datagram: bytes) -> None:
        """A frame under other keys, or a damaged one."""
        if self.sender is not None or self.others:
            return
        if self._keys.are_plain:
            self.others = "what is sent here has a ticket: use it in place of --insecure"
        elif self._is_plain(datagram):
            self.others = "what is sent here has no ticket: use --insecure in place of one"
        else:
            self.others = "what is sent here has another ticket: compare it with the sender's"

    def _is_plain(self, datagram: bytes) -> bool:
        try:
            self._plain_codec.decode(datagram)
        except PeerError:
            return False
        return True
