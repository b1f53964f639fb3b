"""DATA on the wire.

    +---------+------+-------+--------+-------+-----+---------+------------+
    | version | type | flags | pub    | epoch | seq | send_ts | since_prev |
    +---------+------+-------+--------+-------+-----+---------+------------+
      1         1      1       8        2       4     6         3
    +--------+-------+----------+--------+------+
    | lambda | R_max | fb_round | nflows | nrec |                   32 bytes
    +--------+-------+----------+--------+------+
      2        1       1          1        1
    nflows flows, see flows.py
    if flag ECHO:
    +----------+---------+------+
    | receiver | echo_ts | hold |
    +----------+---------+------+
      8          4         2
    the record:
    +--------------+--------------------+-------------------+-----------------+
    | nrec x bytes | nrec x sent_before | nrec x first byte | nrec x the rest |
    +--------------+--------------------+-------------------+-----------------+
      1 each         3 each               0 or 1 each         bytes - 1 each
    the message, see message.py

Timestamps are in microseconds; since_prev, sent_before and hold in 100 µs; rates (lambda, quota)
are half-precision messages per second. The lowest bit of `flags` is ECHO, the next BLOOM_ENTRIES,
the third CONGESTION_EXPERIENCED; the others are zero.
"""

from struct import Struct
from typing import Final

import msgspec

from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.flows import read_flows, size_flows, write_flows
from penstock.wire.codec.message import LENGTH_BYTES, read_message, size_message, write_message
from penstock.wire.frames.data import Data, Echo, FlowTag
from penstock.wire.frames.record import EMPTY_RECORD, PublicationRecord
from penstock.wire.limits import (
    FLOWS_MAX,
    FRAME_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    REPAIR_HEAD_BYTES,
)
from penstock.wire.quantise import RATE_FIRST_BYTE_END

ECHO: Final = 1
BLOOM_ENTRIES: Final = 2
CONGESTION_EXPERIENCED: Final = 4
_UNKNOWN_FLAGS: Final = ~(ECHO | BLOOM_ENTRIES | CONGESTION_EXPERIENCED)

# `struct` has no 6-byte and 3-byte integers: they are read as 2 + 4 and 1 + 2 bytes.
_HEADER: Final = Struct(">BQHIHIBHeBBBB")
_SEND_RATE_OFFSET: Final = 26
_ECHO: Final = Struct(">QIH")
_HEADER_END: Final = BODY_OFFSET + _HEADER.size


def size(frame: Data) -> int:
    """The size of the body in bytes."""
    frame.check()
    total = _HEADER.size + len(frame.record.data)
    if frame.flows:
        total += size_flows(frame.flows)
    if frame.echo is not None:
        total += _ECHO.size
    return total + size_message(frame.message)


def write(frame: Data) -> bytes:
    """Encodes the body."""
    frame.check()
    flows, echo, record = frame.flows, frame.echo, frame.record
    send_ts_us, since_previous_100us = frame.send_ts_us, frame.since_previous_100us
    header = _HEADER.pack(
        (echo is not None) | frame.has_bloom_entries << 1 | frame.congestion_experienced << 2,
        frame.pub,
        frame.epoch,
        frame.seq,
        send_ts_us >> 32,
        send_ts_us & 0xFFFFFFFF,
        since_previous_100us >> 16,
        since_previous_100us & 0xFFFF,
        frame.send_rate_mps,
        frame.max_round_trip_code,
        frame.feedback_round,
        len(flows),
        record.count,
    )
    if flows:
        header += write_flows(flows)
    if echo is not None:
        header += _ECHO.pack(echo.receiver, echo.echo_ts_us, echo.hold_100us)
    return b"".join((header, record.data, write_message(frame.message)))


def read(data: bytes) -> Data:
    """Decodes a whole frame."""
    (
        flags,
        pub,
        epoch,
        seq,
        send_ts_high,
        send_ts_low,
        since_previous_high,
        since_previous_low,
        send_rate_mps,
        max_round_trip_code,
        feedback_round,
        flow_count,
        entry_count,
    ) = _HEADER.unpack_from(data, BODY_OFFSET)
    if flags & _UNKNOWN_FLAGS:
        raise PeerError(f"flags {flags:#04x} are not all known")
    if data[_SEND_RATE_OFFSET] >= RATE_FIRST_BYTE_END:
        raise PeerError(f"{send_rate_mps} is no send rate")
    if flow_count > FLOWS_MAX:
        raise PeerError(f"{flow_count} flows are more than {FLOWS_MAX}")
    position = _HEADER_END
    flows: tuple[FlowTag, ...] = ()
    if flow_count:
        flows, position = read_flows(data, position, flow_count)
    echo = None
    if flags & ECHO:
        echo = Echo(*_ECHO.unpack_from(data, position))
        position += _ECHO.size
    record = EMPTY_RECORD
    if entry_count:
        record, position = read_record(data, position, entry_count)
    return Data(
        pub=pub,
        epoch=epoch,
        seq=seq,
        send_ts_us=send_ts_high << 32 | send_ts_low,
        since_previous_100us=since_previous_high << 16 | since_previous_low,
        send_rate_mps=send_rate_mps,
        max_round_trip_code=max_round_trip_code,
        feedback_round=feedback_round,
        message=read_message(data, position),
        flows=flows,
        echo=echo,
        record=record,
        has_bloom_entries=flags & BLOOM_ENTRIES != 0,
        congestion_experienced=flags & CONGESTION_EXPERIENCED != 0,
    )


def read_record(data: bytes, position: int, count: int) -> tuple[PublicationRecord, int]:
    """Decodes a record of `count` entries at `position`; returns it and its end."""
    end = position + 4 * count + sum(data[position : position + count])
    if end > len(data):
        raise PeerError("the frame ends in its record")
    return PublicationRecord(count, data[position:end]), end


def check_message(message: Message) -> int:
    """Refuses a message that is too large for a frame; returns its size in bytes."""
    message_bytes = size_message(message)
    excess_bytes = message_bytes - LENGTH_BYTES - MESSAGE_BYTES_MAX
    if excess_bytes > 0:
        raise UsageError(
            f"the message is {excess_bytes} bytes too large for a frame: shorten its payload,"
            f" which may have {MESSAGE_BYTES_MAX} together with the attributes"
        )
    return message_bytes


def fit(frame: Data, message_bytes: int | None = None) -> Data:
    """The frame with its record truncated, oldest entry first, until it fits.

    Without its record the frame must fit a REPAIR. `message_bytes` is the result of
    `check_message`, if the caller has it.
    """
    frame.check()
    if message_bytes is None:
        message_bytes = check_message(frame.message)
    flows_bytes = size_flows(frame.flows) if frame.flows else 0
    if REPAIR_HEAD_BYTES + flows_bytes + message_bytes > FRAME_BYTES_MAX:
        raise UsageError(
            f"{flows_bytes} bytes of flows are too many beside this message:"
            " leave their details to the next one"
        )
    echo_bytes = 0 if frame.echo is None else _ECHO.size
    room_bytes = FRAME_BYTES_MAX - _HEADER_END - flows_bytes - echo_bytes - message_bytes
    if len(frame.record.data) <= room_bytes:
        return frame
    return msgspec.structs.replace(frame, record=frame.record.truncated_to(room_bytes))
