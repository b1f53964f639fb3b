"""REQUEST on the wire.

    +---------+------+---------+-----+-------+-----+-----------+-------+
    | version | type | unicast | pub | epoch | seq | requester | round |
    +---------+------+---------+-----+-------+-----+-----------+-------+
      1         1      1         8     2       4     8           1
    +-------+---------+-----+-------+-------+
    | bytes | send_ts | age | delay | bloom |
    +-------+---------+-----+-------+-------+
      1       6         3     3       bytes

The stamp is in microseconds, age and delay in 100 µs.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader, flag
from penstock.wire.frames.request import Request
from penstock.wire.quantise import DELTA_BYTES, STAMP_BYTES

_HEAD: Final = Struct(">BQHIQBB")
_HEAD_BYTES: Final = _HEAD.size + STAMP_BYTES + 2 * DELTA_BYTES


def size(frame: Request) -> int:
    """Bytes of the body."""
    return _HEAD_BYTES + frame.bloom_bytes


def write(frame: Request) -> bytes:
    """The body."""
    head = _HEAD.pack(
        frame.is_unicast,
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
        )
    )


def read(data: bytes) -> Request:
    """The frame, from all its bytes."""
    reader = Reader(data)
    is_unicast, pub, epoch, seq, requester, asked, bloom_bytes = reader.unpack(_HEAD)
    frame = Request(
        pub=pub,
        epoch=epoch,
        seq=seq,
        requester=requester,
        send_ts_us=reader.wide(STAMP_BYTES),
        age_100us=reader.wide(DELTA_BYTES),
        delay_100us=reader.wide(DELTA_BYTES),
        round=asked,
        is_unicast=flag("unicast", is_unicast),
        bloom=reader.wide(bloom_bytes),
        bloom_bytes=bloom_bytes,
    )
    reader.end()
    return frame
