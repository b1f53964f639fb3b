"""TRACKED on the wire.

    +---------+------+----+-----+-------+-------+---------+------+
    | version | type | to | pub | epoch | token | echo_ts | hold |
    +---------+------+----+-----+-------+-------+---------+------+
      1         1      8    8     2       2       4         2
    +---+---------+----------+
    | F | flow_id | flow_seq |    all zero if it is refused
    +---+---------+----------+
      1b  15b       4

The echo is in microseconds, the hold in 100 µs.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.flows import mark_flow, marked_flow
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.tracked import Tracked

_BODY: Final = Struct(">QQHHIHHI")


def size(_frame: Tracked) -> int:
    """Bytes of the body."""
    return _BODY.size


def write(frame: Tracked) -> bytes:
    """The body."""
    return _BODY.pack(
        frame.to,
        frame.pub,
        frame.epoch,
        frame.token,
        frame.echo_ts_us,
        frame.hold_100us,
        mark_flow(frame.flow_id),
        frame.flow_seq,
    )


def read(data: bytes) -> Tracked:
    """The frame, from all its bytes."""
    reader = Reader(data)
    to, pub, epoch, token, echo_ts_us, hold_100us, flow, flow_seq = reader.unpack(_BODY)
    reader.end()
    return Tracked(
        to=to,
        pub=pub,
        epoch=epoch,
        token=token,
        echo_ts_us=echo_ts_us,
        hold_100us=hold_100us,
        flow_id=marked_flow(flow),
        flow_seq=flow_seq,
    )
