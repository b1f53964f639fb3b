"""DATA on the wire.

    +---------+------+-------+--------+-------+-----+---------+------------+
    | version | type | flags | pub    | epoch | seq | send_ts | prev_delta |
    +---------+------+-------+--------+-------+-----+---------+------------+
      1         1      1       8        2       4     6         3
    +--------+-------+----------+--------+------+
    | lambda | R_max | fb_round | nflows | nrec |                   32 bytes
    +--------+-------+----------+--------+------+
      2        1       1          1        1
    nflows times:
    +---+---------+-------+----------+      +-----+-------+-------+
    | D | flow_id | quota | flow_seq | if D | CLR | bytes | bloom |
    +---+---------+-------+----------+      +-----+-------+-------+
      1b  15b       2       4                 4     1       bytes
    if flag ECHO:
    +----------+---------+------+
    | receiver | echo_ts | hold |
    +----------+---------+------+
      8          4         2
    the record:
    +--------------+------------------+-------------------+-----------------+
    | nrec x bytes | nrec x departure | nrec x first byte | nrec x the rest |
    +--------------+------------------+-------------------+-----------------+
      1 each         3 each             0 or 1 each         bytes - 1 each
    the message:
    +-------+------------+---------------------------+
    | bytes | attributes | payload, up to the end ...|
    +-------+------------+---------------------------+
      2       bytes

Stamps are in microseconds, deltas, departures and holds in 100 µs, rates
(lambda, quota) half-precision messages per second; the lowest bit of `flags`
says ECHO, the next LITERAL, the others are zero.
"""

from struct import Struct
from typing import Final

import msgspec

from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.attributes import read_attributes, write_attributes
from penstock.wire.codec.table import BODY
from penstock.wire.frames.data import Data, Echo, Flow, FlowDetail
from penstock.wire.frames.record import EMPTY_RECORD, Record
from penstock.wire.limits import FLOW_ID_BITS, FLOWS_MAX, FRAME_BYTES_MAX
from penstock.wire.quantise import RATE_FIRST_BYTE_END

ECHO: Final = 1
LITERAL: Final = 2
_UNKNOWN_FLAGS: Final = ~(ECHO | LITERAL)
_DETAIL: Final = 1 << FLOW_ID_BITS

# Six bytes are read as 2 + 4, three as 1 + 2: `struct` has no such widths.
_HEADER: Final = Struct(">BQHIHIBHeBBBB")
_LAMBDA_AT: Final = 26
_FLOW: Final = Struct(">HeI")
_DETAIL_HEAD: Final = Struct(">IB")
_ECHO: Final = Struct(">QIH")
_LENGTH: Final = Struct(">H")
_HEADER_END: Final = BODY + _HEADER.size
_LENGTH_BYTES: Final = _LENGTH.size


def size(frame: Data) -> int:
    """Bytes of the body."""
    frame.check()
    message = frame.message
    total = _HEADER.size + _LENGTH_BYTES + len(frame.record.data) + len(message.payload)
    if frame.flows:
        total += sum(map(_flow_size, frame.flows))
    if frame.echo is not None:
        total += _ECHO.size
    return total + len(write_attributes(message.attributes))


def write(frame: Data) -> bytes:
    """The body."""
    frame.check()
    flows, echo, record, message = frame.flows, frame.echo, frame.record, frame.message
    send_ts_us, prev_delta_100us = frame.send_ts_us, frame.prev_delta_100us
    header = _HEADER.pack(
        (echo is not None) | frame.literal << 1,
        frame.pub,
        frame.epoch,
        frame.seq,
        send_ts_us >> 32,
        send_ts_us & 0xFFFFFFFF,
        prev_delta_100us >> 16,
        prev_delta_100us & 0xFFFF,
        frame.send_rate_mps,
        frame.r_max_code,
        frame.fb_round,
        len(flows),
        record.count,
    )
    if flows:
        header += b"".join(map(_write_flow, flows))
    if echo is not None:
        header += _ECHO.pack(echo.receiver, echo.echo_ts_us, echo.hold_100us)
    attributes = write_attributes(message.attributes)
    if len(attributes) > FRAME_BYTES_MAX:
        raise UsageError(f"{len(attributes)} bytes of attributes do not fit a frame: send fewer")
    return b"".join(
        (header, record.data, _LENGTH.pack(len(attributes)), attributes, message.payload)
    )


def read(data: bytes) -> Data:
    """The frame, from all its bytes."""
    (
        flags,
        pub,
        epoch,
        seq,
        send_ts_high,
        send_ts_low,
        prev_delta_high,
        prev_delta_low,
        send_rate_mps,
        r_max_code,
        fb_round,
        flow_count,
        entry_count,
    ) = _HEADER.unpack_from(data, BODY)
    if flags & _UNKNOWN_FLAGS:
        raise PeerError(f"flags {flags:#04x} are not all known")
    if data[_LAMBDA_AT] >= RATE_FIRST_BYTE_END:
        raise PeerError(f"{send_rate_mps} is no send rate")
    if flow_count > FLOWS_MAX:
        raise PeerError(f"{flow_count} flows are more than {FLOWS_MAX}")
    position = _HEADER_END
    flows: tuple[Flow, ...] = ()
    if flow_count:
        flows, position = _read_flows(data, position, flow_count)
    echo = None
    if flags & ECHO:
        echo = Echo(*_ECHO.unpack_from(data, position))
        position += _ECHO.size
    record = EMPTY_RECORD
    if entry_count:
        end = position + 4 * entry_count + sum(data[position : position + entry_count])
        if end > len(data):
            raise PeerError("the frame ends in its record")
        record = Record(entry_count, data[position:end])
        position = end
    (attribute_bytes,) = _LENGTH.unpack_from(data, position)
    position += _LENGTH_BYTES
    end = position + attribute_bytes
    if end > len(data):
        raise PeerError("the frame ends in its attributes")
    return Data(
        pub=pub,
        epoch=epoch,
        seq=seq,
        send_ts_us=send_ts_high << 32 | send_ts_low,
        prev_delta_100us=prev_delta_high << 16 | prev_delta_low,
        send_rate_mps=send_rate_mps,
        r_max_code=r_max_code,
        fb_round=fb_round,
        message=Message.trusted(read_attributes(data[position:end]), data[end:]),
        flows=flows,
        echo=echo,
        record=record,
        literal=flags & LITERAL != 0,
    )


def fit(frame: Data) -> Data:
    """The frame with its record cut, oldest entry first, until it is small enough."""
    excess_bytes = BODY + size(frame) - FRAME_BYTES_MAX
    if excess_bytes <= 0:
        return frame
    record_bytes = len(frame.record.data) - excess_bytes
    if record_bytes < 0:
        raise UsageError(
            f"the message is {-record_bytes} bytes too large for a frame: shorten its payload"
        )
    return msgspec.structs.replace(frame, record=frame.record.within(record_bytes))


def _flow_size(flow: Flow) -> int:
    detail = flow.detail
    return _FLOW.size if detail is None else _FLOW.size + _DETAIL_HEAD.size + detail.bloom_bytes


def _write_flow(flow: Flow) -> bytes:
    detail = flow.detail
    if detail is None:
        return _FLOW.pack(flow.flow_id, flow.quota_mps, flow.flow_seq)
    return (
        _FLOW.pack(_DETAIL | flow.flow_id, flow.quota_mps, flow.flow_seq)
        + _DETAIL_HEAD.pack(detail.clr, detail.bloom_bytes)
        + detail.bloom.to_bytes(detail.bloom_bytes, "big")
    )


def _read_flows(data: bytes, position: int, count: int) -> tuple[tuple[Flow, ...], int]:
    flows = []
    for _ in range(count):
        flow_id, quota_mps, flow_seq = _FLOW.unpack_from(data, position)
        detail = None
        position += _FLOW.size
        if flow_id & _DETAIL:
            clr, bloom_bytes = _DETAIL_HEAD.unpack_from(data, position)
            position += _DETAIL_HEAD.size
            end = position + bloom_bytes
            detail = FlowDetail(clr, int.from_bytes(data[position:end], "big"), bloom_bytes)
            position = end
        flows.append(Flow(flow_id & ~_DETAIL, quota_mps, flow_seq, detail))
    return tuple(flows), position
