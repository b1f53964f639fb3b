"""What stands around the fields of a frame, and how large a frame may be.

    a packet:                                  between neighbours:
    +--------+------+--------+-----+           +---------+------+-------+--------+--------+-----+
    | header | body | origin | MAC |           | version | type | flags | fields | origin | MAC |
    +--------+------+--------+-----+           +---------+------+-------+--------+--------+-----+
      68       ...    12       16                1         1      1       ...      12       16

    the origin:
    +------+------+--------+
    | node | boot | number |
    +------+------+--------+
      4      4      4

DATA has a header, and no origin nor MAC: see `symbols`. `flags` between neighbours is zero.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.mac import MAC_BYTES
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.cast.base import Origin

HEADER_BYTES: Final = 68
SHORT_HEADER_BYTES: Final = 3
_ORIGIN: Final = Struct(">III")
ORIGIN_BYTES: Final = _ORIGIN.size
# Around a body, and around the fields and origin of a frame between neighbours.
PACKET_FRAMING_BYTES: Final = HEADER_BYTES + ORIGIN_BYTES + MAC_BYTES
SHORT_FRAMING_BYTES: Final = SHORT_HEADER_BYTES + MAC_BYTES

# As large as a datagram with a symbol of 1 280 bytes and its tag.
FRAME_BYTES_MAX: Final = 1_364
# UP and DOWN put as much before the body that they carry, and what fits alone shall fit there.
_CARRIER_BYTES: Final = 5
BODY_BYTES_MAX: Final = FRAME_BYTES_MAX - PACKET_FRAMING_BYTES - _CARRIER_BYTES


def write_origin(origin: Origin) -> bytes:
    """Encodes who sent a frame."""
    return _ORIGIN.pack(*origin)


def read_origin(cursor: Reader) -> Origin:
    """Decodes who sent a frame."""
    return Origin(*cursor.unpack(_ORIGIN))


def packet_bytes_max(body_bytes: int) -> int:
    """The bound of a packet whose fields allow a body of this size."""
    return PACKET_FRAMING_BYTES + min(body_bytes, BODY_BYTES_MAX)
