"""ECHO_REQ on the wire.

+---------+------+------------+-----+---------+----------+---+
| version | type | subscriber | pub | send_ts | measured | R |
+---------+------+------------+-----+---------+----------+---+
  1         1      8            8     4         1          1
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.feedback import optional_round_trip
from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.echo_request import EchoRequest

_BODY: Final = Struct(">QQIBB")


def size(frame: EchoRequest) -> int:
    """The size of the body in bytes."""
    del frame
    return _BODY.size


def write(frame: EchoRequest) -> bytes:
    """Encodes the body."""
    is_measured = frame.round_trip_code is not None
    return _BODY.pack(
        frame.subscriber, frame.pub, frame.send_ts_us, is_measured, frame.round_trip_code or 0
    )


def read(data: bytes) -> EchoRequest:
    """Decodes a whole frame."""
    reader = Reader(data)
    subscriber, pub, send_ts_us, measured, round_trip_code = reader.unpack(_BODY)
    reader.expect_end()
    return EchoRequest(
        subscriber=subscriber,
        pub=pub,
        send_ts_us=send_ts_us,
        round_trip_code=optional_round_trip(decode_flag("measured", measured), round_trip_code),
    )
