"""How many bytes a frame takes on a link, with the headers of UDP and IP."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.coding.block_layout import SYMBOL_BYTES
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.codec.cast.symbols import size_of_train
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

UDP_IP_BYTES: Final = 28
_CODEC: Final = CastCodec(Blake2Sealer(b""))


def datagram_bytes(frame: CastFrame, symbol_bytes: int = SYMBOL_BYTES) -> int:
    """Of a frame, or of all symbols of a train, encrypted."""
    if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
        headers_bytes = UDP_IP_BYTES * len(frame.body.numbers)
        return size_of_train(frame, symbol_bytes, is_plain=False) + headers_bytes
    return _CODEC.size_of(frame) + UDP_IP_BYTES
