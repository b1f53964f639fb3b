"""UNSUB on the wire.

+---------+------+--------------+
| version | type | subscription |
+---------+------+--------------+
  1         1      4
"""

from penstock.wire.codec.reader import U32, Reader
from penstock.wire.frames.unsub import Unsub


def size(_frame: Unsub) -> int:
    """The size of the body in bytes."""
    return U32.size


def write(frame: Unsub) -> bytes:
    """Encodes the body."""
    return U32.pack(frame.subscription)


def read(data: bytes) -> Unsub:
    """Decodes a whole frame."""
    reader = Reader(data)
    frame = Unsub(subscription=reader.unpack_one(U32))
    reader.expect_end()
    return frame
