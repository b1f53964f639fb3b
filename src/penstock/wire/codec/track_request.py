"""TRACK on the wire.

    +---------+------+-------+------------+-----+-------+---------+-----------+
    | version | type | flags | subscriber | pub | token | send_ts | predicate |
    +---------+------+-------+------------+-----+-------+---------+-----------+
      1         1      1       8            8     2       4         see filter.py

The lowest bit of `flags` is DIGEST_SUBSCRIPTION, the next END, the third PREDICATE; the others are
zero. The timestamp is in microseconds.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.reader import Reader, check_flags
from penstock.wire.frames.track_request import TrackRequest

DIGEST_SUBSCRIPTION: Final = 1
END: Final = 2
PREDICATE: Final = 4
_HEAD: Final = Struct(">BQQHI")


def size(frame: TrackRequest) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + len(_write_predicate(frame))


def write(frame: TrackRequest) -> bytes:
    """Encodes the body."""
    flag_bits = frame.is_digest_subscription * DIGEST_SUBSCRIPTION | frame.is_end * END
    if frame.predicate is not None:
        flag_bits |= PREDICATE
    head = _HEAD.pack(flag_bits, frame.subscriber, frame.pub, frame.token, frame.send_ts_us)
    return head + _write_predicate(frame)


def read(data: bytes) -> TrackRequest:
    """Decodes a whole frame."""
    reader = Reader(data)
    flag_bits, subscriber, pub, token, send_ts_us = reader.unpack(_HEAD)
    check_flags(flag_bits, DIGEST_SUBSCRIPTION | END | PREDICATE)
    predicate = read_predicate(reader) if flag_bits & PREDICATE else None
    reader.expect_end()
    return TrackRequest(
        subscriber=subscriber,
        pub=pub,
        token=token,
        send_ts_us=send_ts_us,
        is_digest_subscription=flag_bits & DIGEST_SUBSCRIPTION != 0,
        is_end=flag_bits & END != 0,
        predicate=predicate,
    )


def _write_predicate(frame: TrackRequest) -> bytes:
    return b"" if frame.predicate is None else write_predicate(frame.predicate)
