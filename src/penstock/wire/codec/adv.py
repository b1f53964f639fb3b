"""ADV on the wire.

    +---------+------+--------+-----+-------+------+------+-------+
    | version | type | origin | seq | class | full | part | parts |
    +---------+------+--------+-----+-------+------+------+-------+
      1         1      4        4     1       1      2      2
    +-------+-------+---------+-----------------+-------------------+
    | bytes | added | removed | added x filter  | removed x filter  |
    +-------+-------+---------+-----------------+-------------------+
      1       1       1         bytes each        bytes each

A filter of m bits takes m/8 bytes, highest bit first.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader, decode_enum, decode_flag
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass

_HEAD: Final = Struct(">IIBBHHBBB")


def size(frame: Adv) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + frame.bloom_bytes * (len(frame.added) + len(frame.removed))


def write(frame: Adv) -> bytes:
    """Encodes the body."""
    bloom_bytes = frame.bloom_bytes
    head = _HEAD.pack(
        frame.origin,
        frame.seq,
        frame.traffic,
        frame.full,
        frame.part,
        frame.parts,
        bloom_bytes,
        len(frame.added),
        len(frame.removed),
    )
    filters = [bloom.to_bytes(bloom_bytes, "big") for bloom in frame.added + frame.removed]
    return b"".join((head, *filters))


def read(data: bytes) -> Adv:
    """Decodes a whole frame."""
    reader = Reader(data)
    origin, seq, traffic, full, part, parts, bloom_bytes, added, removed = reader.unpack(_HEAD)
    frame = Adv(
        origin=origin,
        seq=seq,
        traffic=decode_enum(TrafficClass, traffic),
        full=decode_flag("full", full),
        bloom_bytes=bloom_bytes,
        added=_read_filters(reader, added, bloom_bytes),
        removed=_read_filters(reader, removed, bloom_bytes),
        part=part,
        parts=parts,
    )
    reader.expect_end()
    return frame


def _read_filters(reader: Reader, count: int, bloom_bytes: int) -> tuple[int, ...]:
    return tuple([int.from_bytes(reader.read_bytes(bloom_bytes), "big") for _ in range(count)])
