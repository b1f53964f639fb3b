"""A packet on the wire: its header, its body and who sent it. The MAC behind them is `CastCodec`'s.

DATA ends in another way, see `symbols`.
"""

from __future__ import annotations

from typing import Final

from penstock.wire.codec.cast.frame_table import CastTable
from penstock.wire.codec.cast.framing import (
    FRAME_BYTES_MAX,
    HEADER_BYTES,
    ORIGIN_BYTES,
    read_origin,
    write_origin,
)
from penstock.wire.codec.cast.header import HeaderCodec
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.cast.packet import Packet


class PacketCodec:
    """What a router may forward.

    +--------+------+--------+
    | header | body | origin |
    +--------+------+--------+
      68       ...    12
    """

    BYTES_MAX: Final = FRAME_BYTES_MAX

    def __init__(self, bodies: CastTable) -> None:
        self._bodies: Final = bodies

    def size(self, packet: Packet) -> int:
        """The size in bytes."""
        return HEADER_BYTES + self._bodies.size(packet.body) + ORIGIN_BYTES

    def write(self, packet: Packet) -> bytes:
        """Encodes a packet."""
        assert packet.origin is not None, "DATA is encoded in another way"
        type_code, body = self._bodies.write(packet.body)
        header = HeaderCodec.write(packet.header, type_code)
        return b"".join((header, body, write_origin(packet.origin)))

    def read(self, data: bytes) -> Packet:
        """Decodes a packet whose type is known."""
        row = self._bodies.row_at(data[1])
        assert row is not None, "the caller has looked for the type"
        header = HeaderCodec.read(data)
        cursor = Reader(data, HEADER_BYTES)
        body = row.codec.read(cursor)
        origin = read_origin(cursor)
        cursor.expect_end()
        return Packet(header=header, body=body, origin=origin)
