"""ADV on the wire.

    +---------+------+--------+-----+-------+------+------+-------+
    | version | type | origin | seq | class | full | part | parts |
    +---------+------+--------+-----+-------+------+------+-------+
      1         1      4        4     1       1      2      2
    +-------+-------+---------+-----------------+-------------------+
    | bytes | added | removed | added x filter  | removed x filter  |
    +-------+-------+---------+-----------------+-------------------+
      1       1       1         bytes each        bytes each

`bytes` is m/8, and 0 when there is no filter at all.
"""

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.reader import Reader, flag, one_of
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass

_HEAD: Final = Struct(">IIBBHHBBB")


def size(frame: Adv) -> int:
    """Bytes of the body."""
    return _HEAD.size + sum(map(len, frame.added)) + sum(map(len, frame.removed))


def write(frame: Adv) -> bytes:
    """The body."""
    filters = frame.added + frame.removed
    head = _HEAD.pack(
        frame.origin,
        frame.seq,
        frame.traffic,
        frame.full,
        frame.part,
        frame.parts,
        len(filters[0]) if filters else 0,
        len(frame.added),
        len(frame.removed),
    )
    return b"".join((head, *filters))


def read(data: bytes) -> Adv:
    """The frame, from all its bytes."""
    reader = Reader(data)
    origin, seq, traffic, full, part, parts, size_bytes, added, removed = reader.unpack(_HEAD)
    if (size_bytes == 0) is not (added + removed == 0):
        raise PeerError(f"{added + removed} filters of {size_bytes} bytes")
    frame = Adv(
        origin=origin,
        seq=seq,
        traffic=one_of(TrafficClass, traffic),
        full=flag("full", full),
        added=tuple([reader.take(size_bytes) for _ in range(added)]),
        removed=tuple([reader.take(size_bytes) for _ in range(removed)]),
        part=part,
        parts=parts,
    )
    reader.end()
    return frame
