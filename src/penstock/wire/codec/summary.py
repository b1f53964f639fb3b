"""SUMMARY on the wire.

+---------+------+----------+-------+------+-------+          +--------+-----+
| version | type | database | first | last | count | count of | origin | seq |
+---------+------+----------+-------+------+-------+          +--------+-----+
  1         1      1          4       4      1                  4        4
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader, decode_enum
from penstock.wire.frames.summary import Database, Summary, SummaryRow

_HEAD: Final = Struct(">BIIB")
_ROW: Final = Struct(">II")


def size(frame: Summary) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + _ROW.size * len(frame.rows)


def write(frame: Summary) -> bytes:
    """Encodes the body."""
    head = _HEAD.pack(frame.database, frame.first, frame.last, len(frame.rows))
    return b"".join([head, *(_ROW.pack(row.origin, row.seq) for row in frame.rows)])


def read(data: bytes) -> Summary:
    """Decodes a whole frame."""
    reader = Reader(data)
    database, first, last, count = reader.unpack(_HEAD)
    rows = tuple([SummaryRow(*reader.unpack(_ROW)) for _ in range(count)])
    reader.expect_end()
    return Summary(database=decode_enum(Database, database), first=first, last=last, rows=rows)
