"""TRACK on the wire.

    +---------+------+-------+------------+-----+-------+---------+-----------+
    | version | type | flags | subscriber | pub | token | send_ts | predicate |
    +---------+------+-------+------------+-----+-------+---------+-----------+
      1         1      1       8            8     2       4         see filter.py

The lowest bit of `flags` says DIGEST, the next END, the third that there is a
predicate; the others are zero. The stamp is in microseconds.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.reader import Reader, flags
from penstock.wire.frames.track_request import Track

DIGEST: Final = 1
END: Final = 2
PREDICATE: Final = 4
_HEAD: Final = Struct(">BQQHI")


def size(frame: Track) -> int:
    """Bytes of the body."""
    return _HEAD.size + len(_write_predicate(frame))


def write(frame: Track) -> bytes:
    """The body."""
    said = frame.wants_digest * DIGEST | frame.is_end * END
    if frame.predicate is not None:
        said |= PREDICATE
    head = _HEAD.pack(said, frame.subscriber, frame.pub, frame.token, frame.send_ts_us)
    return head + _write_predicate(frame)


def read(data: bytes) -> Track:
    """The frame, from all its bytes."""
    reader = Reader(data)
    said, subscriber, pub, token, send_ts_us = reader.unpack(_HEAD)
    flags(said, DIGEST | END | PREDICATE)
    predicate = read_predicate(reader) if said & PREDICATE else None
    reader.end()
    return Track(
        subscriber=subscriber,
        pub=pub,
        token=token,
        send_ts_us=send_ts_us,
        wants_digest=said & DIGEST != 0,
        is_end=said & END != 0,
        predicate=predicate,
    )


def _write_predicate(frame: Track) -> bytes:
    return b"" if frame.predicate is None else write_predicate(frame.predicate)
