"""ACK on the wire.

    +---------+------+------------+-----+-------+-------+
    | version | type | subscriber | pub | epoch | count |
    +---------+------+------------+-----+-------+-------+
      1         1      8            8     2       1
    count x  +---+---------+----------+----------+
             | M | flow_id | flow_seq | received |
             +---+---------+----------+----------+
               1b  15b       4          4

Bit i of `received`, from the lowest, stands for number flow_seq - 1 - i. M is set if a message had
the congestion mark.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader
from penstock.wire.frames.ack import Ack, FlowAck
from penstock.wire.limits import FLOW_ID_BITS

_CONGESTION_EXPERIENCED: Final = 1 << FLOW_ID_BITS
_HEAD: Final = Struct(">QQHB")
_FLOW: Final = Struct(">HII")


def size(frame: Ack) -> int:
    """The size of the body in bytes."""
    return _HEAD.size + _FLOW.size * len(frame.flows)


def write(frame: Ack) -> bytes:
    """Encodes the body."""
    head = _HEAD.pack(frame.subscriber, frame.pub, frame.epoch, len(frame.flows))
    return head + b"".join(map(_write_flow, frame.flows))


def read(data: bytes) -> Ack:
    """Decodes a whole frame."""
    reader = Reader(data)
    subscriber, pub, epoch, count = reader.unpack(_HEAD)
    flows = tuple([_read_flow(reader) for _ in range(count)])
    reader.expect_end()
    return Ack(subscriber=subscriber, pub=pub, epoch=epoch, flows=flows)


def _write_flow(flow: FlowAck) -> bytes:
    return _FLOW.pack(
        flow.congestion_experienced * _CONGESTION_EXPERIENCED | flow.flow_id,
        flow.flow_seq,
        flow.received_bitmap,
    )


def _read_flow(reader: Reader) -> FlowAck:
    flow_id, flow_seq, received_bitmap = reader.unpack(_FLOW)
    return FlowAck(
        flow_id & ~_CONGESTION_EXPERIENCED,
        flow_seq,
        received_bitmap,
        bool(flow_id & _CONGESTION_EXPERIENCED),
    )
