"""ECHO_REQ on the wire.

+---------+------+------------+-----+---------+----------+---+
| version | type | subscriber | pub | send_ts | measured | R |
+---------+------+------------+-----+---------+----------+---+
  1         1      8            8     4         1          1
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.feedback import optional
from penstock.wire.codec.reader import Reader, flag
from penstock.wire.frames.echo_request import EchoRequest

_BODY: Final = Struct(">QQIBB")


def size(frame: EchoRequest) -> int:
    """Bytes of the body."""
    del frame
    return _BODY.size


def write(frame: EchoRequest) -> bytes:
    """The body."""
    is_measured = frame.r_code is not None
    return _BODY.pack(frame.subscriber, frame.pub, frame.send_ts_us, is_measured, frame.r_code or 0)


def read(data: bytes) -> EchoRequest:
    """The frame, from all its bytes."""
    reader = Reader(data)
    subscriber, pub, send_ts_us, measured, r_code = reader.unpack(_BODY)
    reader.end()
    return EchoRequest(
        subscriber=subscriber,
        pub=pub,
        send_ts_us=send_ts_us,
        r_code=optional(flag("measured", measured), r_code),
    )
