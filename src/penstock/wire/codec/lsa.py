"""LSA on the wire.

+---------+------+--------+-----+-------+          +--------+------+
| version | type | origin | seq | count | count of | broker | cost |
+---------+------+--------+-----+-------+          +--------+------+
  1         1      4        4     1                  4        2
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader
from penstock.wire.frames.lsa import Lsa, Neighbour

_HEAD: Final = Struct(">IIB")
_NEIGHBOUR: Final = Struct(">IH")


def size(frame: Lsa) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + _NEIGHBOUR.size * len(frame.neighbours)


def write(frame: Lsa) -> bytes:
    """Encodes the body."""
    head = _HEAD.pack(frame.origin, frame.seq, len(frame.neighbours))
    return b"".join([head, *(_NEIGHBOUR.pack(n.broker, n.cost) for n in frame.neighbours)])


def read(data: bytes) -> Lsa:
    """Decodes a whole frame."""
    reader = Reader(data)
    origin, seq, count = reader.unpack(_HEAD)
    neighbours = tuple([Neighbour(*reader.unpack(_NEIGHBOUR)) for _ in range(count)])
    reader.expect_end()
    return Lsa(origin=origin, seq=seq, neighbours=neighbours)
