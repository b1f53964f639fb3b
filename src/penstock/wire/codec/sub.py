"""SUB on the wire.

+---------+------+--------------+-------+-----------+
| version | type | subscription | class | predicate |
+---------+------+--------------+-------+-----------+
  1         1      4              1       see filter.py
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.reader import Reader, decode_enum
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.sub import Sub

_HEAD: Final = Struct(">IB")


def size(frame: Sub) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + len(write_predicate(frame.predicate))


def write(frame: Sub) -> bytes:
    """Encodes the body."""
    return _HEAD.pack(frame.subscription, frame.traffic) + write_predicate(frame.predicate)


def read(data: bytes) -> Sub:
    """Decodes a whole frame."""
    reader = Reader(data)
    subscription, traffic = reader.unpack(_HEAD)
    predicate = read_predicate(reader)
    reader.expect_end()
    return Sub(
        subscription=subscription, traffic=decode_enum(TrafficClass, traffic), predicate=predicate
    )
