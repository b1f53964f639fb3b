"""HELLO on the wire.

+---------+------+--------+-------+---------+-------+
| version | type | broker | epoch | network | heard |
+---------+------+--------+-------+---------+-------+
  1         1      4        2       4         1
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.hello import Hello

_BODY: Final = Struct(">IHIB")


def size(_frame: Hello) -> int:
    """The size of the body in bytes."""
    return _BODY.size


def write(frame: Hello) -> bytes:
    """Encodes the body."""
    return _BODY.pack(frame.broker, frame.epoch, frame.network, frame.heard)


def read(data: bytes) -> Hello:
    """Decodes a whole frame."""
    reader = Reader(data)
    broker, epoch, network, heard = reader.unpack(_BODY)
    reader.expect_end()
    return Hello(broker=broker, epoch=epoch, network=network, heard=decode_flag("heard", heard))
