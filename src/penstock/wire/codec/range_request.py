"""RECALL on the wire.

    +---------+------+-----+-------+-----------+---+---------+-------+---------+
    | version | type | pub | epoch | requester | F | flow_id | count | send_ts |
    +---------+------+-----+-------+-----------+---+---------+-------+---------+
      1         1      8     2       8           1b  15b       1       6
             +-------+-------+
    count of | first | count |
             +-------+-------+
               4       2

Without F the numbers are those of digests, and flow_id is zero. The timestamp is in microseconds.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.flows import decode_optional_flow, encode_optional_flow
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.quantise import STAMP_BYTES

_HEAD: Final = Struct(">QHQHB")
_RANGE: Final = Struct(">IH")


def size(frame: RangeRequest) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + STAMP_BYTES + _RANGE.size * len(frame.ranges)


def write(frame: RangeRequest) -> bytes:
    """Encodes the body."""
    flow_field, count = encode_optional_flow(frame.flow_id), len(frame.ranges)
    head = _HEAD.pack(frame.pub, frame.epoch, frame.requester, flow_field, count)
    stamp = frame.send_ts_us.to_bytes(STAMP_BYTES, "big")
    return b"".join([head, stamp, *[_RANGE.pack(*span) for span in frame.ranges]])


def read(data: bytes) -> RangeRequest:
    """Decodes a whole frame."""
    reader = Reader(data)
    pub, epoch, requester, flow_field, count = reader.unpack(_HEAD)
    send_ts_us = reader.read_uint(STAMP_BYTES)
    ranges = tuple([_read_range(reader) for _ in range(count)])
    reader.expect_end()
    return RangeRequest(
        pub=pub,
        epoch=epoch,
        requester=requester,
        send_ts_us=send_ts_us,
        flow_id=decode_optional_flow(flow_field),
        ranges=ranges,
    )


def _read_range(reader: Reader) -> tuple[int, int]:
    first, count = reader.unpack(_RANGE)
    return first, count
