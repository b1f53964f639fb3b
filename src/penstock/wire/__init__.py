"""Frames between machines and their wire format.

`frames` defines the frames, `codec` their bytes. A simulator needs only the first and `size_of`; a
socket needs all three functions. Knows no socket, no clock and no protocol: the receiver interprets
a frame.
"""

from typing import Final, TypeAlias

from penstock.wire.codec.codec_table import CodecTable
from penstock.wire.codec.data import fit
from penstock.wire.codec.overlay import OVERLAY
from penstock.wire.codec.transport import TRANSPORT
from penstock.wire.frames.base import OverlayFrame, TransportFrame

Frame: TypeAlias = TransportFrame | OverlayFrame

FRAMES: Final[CodecTable[Frame]] = CodecTable((*TRANSPORT.rows, *OVERLAY.rows))

encode = FRAMES.encode
decode = FRAMES.decode
size_of = FRAMES.size_of

__all__ = [
    "FRAMES",
    "Frame",
    "OverlayFrame",
    "TransportFrame",
    "decode",
    "encode",
    "fit",
    "size_of",
]
