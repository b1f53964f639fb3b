"""ECHO_REP on the wire.

    +---------+------+----+-----+---------+------+-----------+---------+
    | version | type | to | pub | echo_ts | hold | receivers | send_ts |
    +---------+------+----+-----+---------+------+-----------+---------+
      1         1      8    8     4         2      2           6

Timestamps are in microseconds, the hold in 100 µs.
"""

from struct import Struct
from typing import Final

from penstock.wire.codec.reader import Reader
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.quantise import STAMP_BYTES

_HEAD: Final = Struct(">QQIHH")


def size(frame: EchoReply) -> int:
    """The size of the body in bytes."""
    del frame
    return _HEAD.size + STAMP_BYTES


def write(frame: EchoReply) -> bytes:
    """Encodes the body."""
    head = _HEAD.pack(frame.to, frame.pub, frame.echo_ts_us, frame.hold_100us, frame.receivers)
    return head + frame.send_ts_us.to_bytes(STAMP_BYTES, "big")


def read(data: bytes) -> EchoReply:
    """Decodes a whole frame."""
    reader = Reader(data)
    to, pub, echo_ts_us, hold_100us, receivers = reader.unpack(_HEAD)
    send_ts_us = reader.read_uint(STAMP_BYTES)
    reader.expect_end()
    return EchoReply(
        to=to,
        pub=pub,
        send_ts_us=send_ts_us,
        echo_ts_us=echo_ts_us,
        hold_100us=hold_100us,
        receivers=receivers,
    )
