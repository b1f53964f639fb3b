"""PUB on the wire.

+---------+------+-------+---------------------+
| version | type | class | transport frame ... |
+---------+------+-------+---------------------+
  1         1      1
"""

from penstock.wire.codec.carried_frame import read_parcel, size_parcel, write_parcel
from penstock.wire.codec.reader import U8, Reader, one_of
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.pub import Pub


def size(frame: Pub) -> int:
    """Bytes of the body."""
    return U8.size + size_parcel(frame.parcel)


def write(frame: Pub) -> bytes:
    """The body."""
    return U8.pack(frame.traffic) + write_parcel(frame.parcel)


def read(data: bytes) -> Pub:
    """The frame, from all its bytes."""
    reader = Reader(data)
    traffic = one_of(TrafficClass, reader.number(U8))
    return Pub(traffic=traffic, parcel=read_parcel(data, reader.position))
