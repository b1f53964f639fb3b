"""FEEDBACK on the wire.

    +---------+------+-------+------------+-----+---------+----------+---+-------+
    | version | type | flags | subscriber | pub | send_ts | fb_round | R | count |
    +---------+------+-------+------------+-----+---------+----------+---+-------+
      1         1      1       8            8     4         1          1   1
    count x  +---+---------+-------+          +-------+-------------------------+
             | F | flow_id | quota | if not F | bytes | bloom, or if bytes is 0 |
             +---+---------+-------+          +-------+ a filter                +
               1b  15b       2                  1       +-----------------------+

The lowest bit of `flags` is HAS_ROUND_TRIP, the next LOSS, the third LEAVE; the others are zero. R
is zero without HAS_ROUND_TRIP, flow_id is zero without F.
"""

from struct import Struct
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.errors import PeerError
from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.flows import decode_optional_flow, encode_optional_flow
from penstock.wire.codec.reader import U8, Reader, check_flags
from penstock.wire.frames.feedback import Feedback, FlowRequest

HAS_ROUND_TRIP: Final = 1
LOSS: Final = 2
LEAVE: Final = 4
_HEAD: Final = Struct(">BQQIBBB")
_REQUEST: Final = Struct(">He")


def size(frame: Feedback) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + sum(map(size_request, frame.requests))


def size_request(request: FlowRequest) -> int:
    """The size of one request in bytes."""
    return len(_write_request(request))


def write(frame: Feedback) -> bytes:
    """Encodes the body."""
    flag_bits = frame.has_loss * LOSS | frame.is_leave * LEAVE
    if frame.round_trip_code is not None:
        flag_bits |= HAS_ROUND_TRIP
    head = _HEAD.pack(
        flag_bits,
        frame.subscriber,
        frame.pub,
        frame.send_ts_us,
        frame.feedback_round,
        frame.round_trip_code or 0,
        len(frame.requests),
    )
    return head + b"".join(map(_write_request, frame.requests))


def read(data: bytes) -> Feedback:
    """Decodes a whole frame."""
    reader = Reader(data)
    flag_bits, subscriber, pub, send_ts_us, feedback_round, round_trip_code, count = reader.unpack(
        _HEAD
    )
    check_flags(flag_bits, HAS_ROUND_TRIP | LOSS | LEAVE)
    requests = tuple([_read_request(reader) for _ in range(count)])
    reader.expect_end()
    return Feedback(
        subscriber=subscriber,
        pub=pub,
        send_ts_us=send_ts_us,
        feedback_round=feedback_round,
        round_trip_code=optional_round_trip(flag_bits & HAS_ROUND_TRIP, round_trip_code),
        has_loss=flag_bits & LOSS != 0,
        is_leave=flag_bits & LEAVE != 0,
        requests=requests,
    )


def optional_round_trip(is_present: int, round_trip_code: int) -> int | None:
    """The round-trip code, or None if it is absent."""
    if is_present:
        return round_trip_code
    if round_trip_code:
        raise PeerError(f"a round trip {round_trip_code} is there and is not")
    return None


def _write_request(request: FlowRequest) -> bytes:
    head = _REQUEST.pack(encode_optional_flow(request.flow_id), request.quota_mps)
    if request.flow_id is not None:
        return head
    if request.filter is not None:
        return head + b"\0" + write_predicate(Predicate([request.filter]))
    bloom = request.bloom.to_bytes(request.bloom_bytes, "big")
    return head + U8.pack(request.bloom_bytes) + bloom


def _read_request(reader: Reader) -> FlowRequest:
    flow_field, quota_mps = reader.unpack(_REQUEST)
    flow_id = decode_optional_flow(flow_field)
    if flow_id is not None:
        return FlowRequest(quota_mps=quota_mps, flow_id=flow_id)
    bloom_bytes = reader.unpack_one(U8)
    if bloom_bytes:
        bloom = reader.read_uint(bloom_bytes)
        return FlowRequest(quota_mps=quota_mps, bloom=bloom, bloom_bytes=bloom_bytes)
    predicate = read_predicate(reader)
    if len(predicate.filters) != 1:
        raise PeerError(f"a flow has one filter, not {len(predicate.filters)}")
    return FlowRequest(quota_mps=quota_mps, filter=predicate.filters[0])
