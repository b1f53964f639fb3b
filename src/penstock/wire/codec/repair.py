"""REPAIR on the wire.

    +---------+------+-------+----------+-----------+---------+------+
    | version | type | flags | repairer | requester | echo_ts | hold |
    +---------+------+-------+----------+-----------+---------+------+
      1         1      1       8          8           4         2
    of the original:
    +-----+-------+-----+---------+------------+--------+-------+----------+
    | pub | epoch | seq | send_ts | since_prev | lambda | R_max | fb_round |
    +-----+-------+-----+---------+------------+--------+-------+----------+
      8     2       4     6         3            2        1       1
    +--------+     +----+
    | nflows | TO: | to |                          61 bytes with it
    +--------+     +----+
      1              8
    nflows flows, see flows.py
    the message, see message.py

The lowest bit of `flags` is TO, the others are zero. Fields of the original are encoded as in DATA.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.flows import read_flows, size_flows, write_flows
from penstock.wire.codec.message import read_message, size_message, write_message
from penstock.wire.codec.reader import U64, decode_flag
from penstock.wire.frames.data import Data
from penstock.wire.frames.repair import Repair
from penstock.wire.limits import REPAIR_HEAD_BYTES

# 6-byte and 3-byte integers are read as 2 + 4 and 1 + 2 bytes, as in DATA.
_HEAD: Final = Struct(">BQQIHQHIHIBHeBBB")
assert BODY_OFFSET + _HEAD.size + U64.size == REPAIR_HEAD_BYTES, "messages are measured by it"


def size(frame: Repair) -> int:
    """The size of the body in bytes."""
    original = frame.original
    to_bytes = 0 if frame.to is None else U64.size
    return _HEAD.size + to_bytes + size_flows(original.flows) + size_message(original.message)


def write(frame: Repair) -> bytes:
    """Encodes the body."""
    original, to = frame.original, frame.to
    head = _HEAD.pack(
        to is not None,
        frame.repairer,
        frame.requester,
        frame.echo_ts_us,
        frame.hold_100us,
        original.pub,
        original.epoch,
        original.seq,
        original.send_ts_us >> 32,
        original.send_ts_us & 0xFFFFFFFF,
        original.since_previous_100us >> 16,
        original.since_previous_100us & 0xFFFF,
        original.send_rate_mps,
        original.max_round_trip_code,
        original.feedback_round,
        len(original.flows),
    )
    to_field = b"" if to is None else U64.pack(to)
    return b"".join((head, to_field, write_flows(original.flows), write_message(original.message)))


def read(data: bytes) -> Repair:
    """Decodes a whole frame."""
    (
        is_unicast,
        repairer,
        requester,
        echo_ts_us,
        hold_100us,
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
    ) = _HEAD.unpack_from(data, BODY_OFFSET)
    position = BODY_OFFSET + _HEAD.size
    to = None
    if decode_flag("to", is_unicast):
        (to,) = U64.unpack_from(data, position)
        position += U64.size
    flows, position = read_flows(data, position, flow_count)
    original = Data(
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
    )
    return Repair(
        original=original,
        repairer=repairer,
        requester=requester,
        echo_ts_us=echo_ts_us,
        hold_100us=hold_100us,
        to=to,
    )
