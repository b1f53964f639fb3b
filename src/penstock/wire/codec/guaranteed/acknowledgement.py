"""ACK of a client and ACKED on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import (
    PAIR_BYTES,
    read_positions,
    size_positions,
    write_positions,
)
from penstock.wire.codec.reader import U16, U32, Reader, decode_flag
from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import POSITIONS_MAX

_POSITIONS_BYTES_MAX: Final = U16.size + PAIR_BYTES * POSITIONS_MAX
_ACK: Final = Struct(">IB")


class ClientAckCodec:
    """ACK of a client.

    +--------------+---------+-------+------------+
    | subscription | awaited | count | positions  |
    +--------------+---------+-------+------------+
      4              1         2       count x 16
    """

    BYTES_MAX: Final = BODY_OFFSET + _ACK.size + _POSITIONS_BYTES_MAX

    @staticmethod
    def size(frame: ClientAck) -> int:
        """The size of the body in bytes."""
        return _ACK.size + size_positions(frame.positions)

    @staticmethod
    def write(frame: ClientAck) -> bytes:
        """Encodes the body."""
        return _ACK.pack(frame.subscription, frame.is_awaited) + write_positions(frame.positions)

    @staticmethod
    def read(data: bytes) -> ClientAck:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription, is_awaited = cursor.unpack(_ACK)
        positions = read_positions(cursor)
        cursor.expect_end()
        return ClientAck(
            subscription=subscription,
            positions=positions,
            is_awaited=decode_flag("awaited", is_awaited),
        )


class AckedCodec:
    """ACKED: these positions are stored.

    +--------------+-------+------------+
    | subscription | count | positions  |
    +--------------+-------+------------+
      4              2       count x 16
    """

    BYTES_MAX: Final = BODY_OFFSET + U32.size + _POSITIONS_BYTES_MAX

    @staticmethod
    def size(frame: Acked) -> int:
        """The size of the body in bytes."""
        return U32.size + size_positions(frame.positions)

    @staticmethod
    def write(frame: Acked) -> bytes:
        """Encodes the body."""
        return U32.pack(frame.subscription) + write_positions(frame.positions)

    @staticmethod
    def read(data: bytes) -> Acked:
        """Decodes a whole frame."""
        cursor = Reader(data)
        subscription = cursor.unpack_one(U32)
        positions = read_positions(cursor)
        cursor.expect_end()
        return Acked(subscription=subscription, positions=positions)
