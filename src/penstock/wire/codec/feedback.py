"""FEEDBACK on the wire.

    +---------+------+-------+------------+-----+---------+----------+---+-------+
    | version | type | flags | subscriber | pub | send_ts | fb_round | R | count |
    +---------+------+-------+------------+-----+---------+----------+---+-------+
      1         1      1       8            8     4         1          1   1
    count x  +---+---------+-------+          +-------+-------------------------+
             | F | flow_id | quota | if not F | bytes | bloom, or if bytes is 0 |
             +---+---------+-------+          +-------+ a filter                +
               1b  15b       2                  1       +-----------------------+

The lowest bit of `flags` says that there is an R, the next LOSS, the third LEAVE; the
others are zero, and so is R where there is none, and flow_id without F.
"""

from struct import Struct
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.errors import PeerError
from penstock.wire.codec.filter import read_predicate, write_predicate
from penstock.wire.codec.flows import mark_flow, marked_flow
from penstock.wire.codec.reader import U8, Reader, flags
from penstock.wire.frames.feedback import Feedback, FlowRequest

MEASURED: Final = 1
LOSS: Final = 2
LEAVE: Final = 4
_HEAD: Final = Struct(">BQQIBBB")
_REQUEST: Final = Struct(">He")


def size(frame: Feedback) -> int:
    """Bytes of the body."""
    return _HEAD.size + sum(map(size_request, frame.requests))


def size_request(request: FlowRequest) -> int:
    """Bytes of one of its requests."""
    return len(_write_request(request))


def write(frame: Feedback) -> bytes:
    """The body."""
    said = frame.has_loss * LOSS | frame.is_leave * LEAVE
    if frame.r_code is not None:
        said |= MEASURED
    head = _HEAD.pack(
        said,
        frame.subscriber,
        frame.pub,
        frame.send_ts_us,
        frame.fb_round,
        frame.r_code or 0,
        len(frame.requests),
    )
    return head + b"".join(map(_write_request, frame.requests))


def read(data: bytes) -> Feedback:
    """The frame, from all its bytes."""
    reader = Reader(data)
    said, subscriber, pub, send_ts_us, fb_round, r_code, count = reader.unpack(_HEAD)
    flags(said, MEASURED | LOSS | LEAVE)
    requests = tuple([_read_request(reader) for _ in range(count)])
    reader.end()
    return Feedback(
        subscriber=subscriber,
        pub=pub,
        send_ts_us=send_ts_us,
        fb_round=fb_round,
        r_code=optional(said & MEASURED, r_code),
        has_loss=said & LOSS != 0,
        is_leave=said & LEAVE != 0,
        requests=requests,
    )


def optional(is_there: int, r_code: int) -> int | None:
    """A round trip or none."""
    if is_there:
        return r_code
    if r_code:
        raise PeerError(f"a round trip {r_code} is there and is not")
    return None


def _write_request(request: FlowRequest) -> bytes:
    head = _REQUEST.pack(mark_flow(request.flow_id), request.quota_mps)
    if request.flow_id is not None:
        return head
    if request.filter is not None:
        return head + b"\0" + write_predicate(Predicate([request.filter]))
    bloom = request.bloom.to_bytes(request.bloom_bytes, "big")
    return head + U8.pack(request.bloom_bytes) + bloom


def _read_request(reader: Reader) -> FlowRequest:
    marked, quota_mps = reader.unpack(_REQUEST)
    flow_id = marked_flow(marked)
    if flow_id is not None:
        return FlowRequest(quota_mps=quota_mps, flow_id=flow_id)
    bloom_bytes = reader.number(U8)
    if bloom_bytes:
        bloom = reader.wide(bloom_bytes)
        return FlowRequest(quota_mps=quota_mps, bloom=bloom, bloom_bytes=bloom_bytes)
    predicate = read_predicate(reader)
    if len(predicate.filters) != 1:
        raise PeerError(f"a flow has one filter, not {len(predicate.filters)}")
    return FlowRequest(quota_mps=quota_mps, filter=predicate.filters[0])
