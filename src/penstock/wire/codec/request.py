"""REQUEST on the wire.

    +---------+------+---------+-----+-------+-----+-----------+-------+
    | version | type | flags   | pub | epoch | seq | requester | round |
    +---------+------+---------+-----+-------+-----+-----------+-------+
      1         1      1         8     2       4     8           1
    +-------+---------+-----+-------+-------+-----------------------+
    | bytes | send_ts | age | delay | bloom | [designated repairer] |
    +-------+---------+-----+-------+-------+-----------------------+
      1       6         3     3       bytes   8

The lowest bit of `flags` is UNICAST, the next DESIGNATED; the others are zero. The timestamp is in
microseconds, age and delay in 100 µs.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader, check_flags
from penstock.wire.frames.request import Request
from penstock.wire.quantise import DELTA_BYTES, STAMP_BYTES

UNICAST: Final = 1
DESIGNATED: Final = 2
_ENDPOINT_BYTES: Final = 8
_HEAD: Final = Struct(">BQHIQBB")
_HEAD_BYTES: Final = _HEAD.size + STAMP_BYTES + 2 * DELTA_BYTES


def size(frame: Request) -> int:
    """The size of the body in bytes."""
    designated_bytes = 0 if frame.designated_repairer is None else _ENDPOINT_BYTES
    return _HEAD_BYTES + frame.bloom_bytes + designated_bytes


def write(frame: Request) -> bytes:
    """Encodes the body."""
    flag_bits = frame.is_unicast * UNICAST | (frame.designated_repairer is not None) * DESIGNATED
    head = _HEAD.pack(
        flag_bits,
        frame.pub,
        frame.epoch,
        frame.seq,
        frame.requester,
        frame.round,
        frame.bloom_bytes,
    )
    return b"".join(
        (
            head,
            frame.send_ts_us.to_bytes(STAMP_BYTES, "big"),
            frame.age_100us.to_bytes(DELTA_BYTES, "big"),
            frame.delay_100us.to_bytes(DELTA_BYTES, "big"),
            frame.bloom.to_bytes(frame.bloom_bytes, "big"),
            b""
            if frame.designated_repairer is None
            else frame.designated_repairer.to_bytes(_ENDPOINT_BYTES, "big"),
        )
    )


def read(data: bytes) -> Request:
    """Decodes a whole frame."""
    reader = Reader(data)
    flag_bits, pub, epoch, seq, requester, request_round, bloom_bytes = reader.unpack(_HEAD)
    check_flags(flag_bits, UNICAST | DESIGNATED)
    frame = Request(
        pub=pub,
        epoch=epoch,
        seq=seq,
        requester=requester,
        send_ts_us=reader.read_uint(STAMP_BYTES),
        age_100us=reader.read_uint(DELTA_BYTES),
        delay_100us=reader.read_uint(DELTA_BYTES),
        round=request_round,
        is_unicast=flag_bits & UNICAST != 0,
        bloom=reader.read_uint(bloom_bytes),
        bloom_bytes=bloom_bytes,
        designated_repairer=reader.read_uint(_ENDPOINT_BYTES) if flag_bits & DESIGNATED else None,
    )
    reader.expect_end()
    return frame
