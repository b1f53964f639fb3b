"""PUB on the wire.

+---------+------+-------+---------------------+
| version | type | class | transport frame ... |
+---------+------+-------+---------------------+
  1         1      1
"""

from penstock.wire.codec.carried_frame import (
    read_carried_frame,
    size_carried_frame,
    write_carried_frame,
)
from penstock.wire.codec.reader import U8, Reader, decode_enum
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.pub import Pub


def size(frame: Pub) -> int:
    """The size of the body in bytes."""
    return U8.size + size_carried_frame(frame.carried)


def write(frame: Pub) -> bytes:
    """Encodes the body."""
    return U8.pack(frame.traffic) + write_carried_frame(frame.carried)


def read(data: bytes) -> Pub:
    """Decodes a whole frame."""
    reader = Reader(data)
    traffic = decode_enum(TrafficClass, reader.unpack_one(U8))
    return Pub(traffic=traffic, carried=read_carried_frame(data, reader.position))
