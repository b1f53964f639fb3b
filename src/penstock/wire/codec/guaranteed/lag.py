"""LAG and LAG_ANSWER on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import read_text, size_text, write_text
from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.guaranteed.base import NAME_BYTES_MAX, Serial
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest

_NAME_FIELD_BYTES_MAX: Final = 1 + NAME_BYTES_MAX
_REQUEST: Final = Struct(">QQIQ")
_ANSWER: Final = Struct(">QQIQQQQB")


class LagRequestCodec:
    """LAG: what lies behind a tick?

    +--------+------+--------+------+-------+------+
    | pubend | life | number | tick | bytes | host |
    +--------+------+--------+------+-------+------+
      8        8      4        8      1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _REQUEST.size + _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: LagRequest) -> int:
        """The size of the body in bytes."""
        return _REQUEST.size + size_text(frame.host)

    @staticmethod
    def write(frame: LagRequest) -> bytes:
        """Encodes the body."""
        head = _REQUEST.pack(frame.pubend, *frame.serial, frame.tick)
        return head + write_text(frame.host)

    @staticmethod
    def read(data: bytes) -> LagRequest:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, life, number, tick = cursor.unpack(_REQUEST)
        host = read_text(cursor)
        cursor.expect_end()
        return LagRequest(pubend=pubend, host=host, serial=Serial(life, number), tick=tick)


class LagAnswerCodec:
    """LAG_ANSWER: the answer to LAG.

    +--------+------+--------+----------+------+-------+--------+-------------+-------+------+
    | pubend | life | number | messages | size | limit | age us | upper bound | bytes | host |
    +--------+------+--------+----------+------+-------+--------+-------------+-------+------+
      8        8      4        8          8      8       8        1             1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _ANSWER.size + _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: LagAnswer) -> int:
        """The size of the body in bytes."""
        return _ANSWER.size + size_text(frame.host)

    @staticmethod
    def write(frame: LagAnswer) -> bytes:
        """Encodes the body."""
        head = _ANSWER.pack(
            frame.pubend,
            *frame.serial,
            frame.messages,
            frame.size_bytes,
            frame.limit_bytes,
            frame.age_us,
            frame.is_upper_bound,
        )
        return head + write_text(frame.host)

    @staticmethod
    def read(data: bytes) -> LagAnswer:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, life, number, *numbers, is_upper_bound = cursor.unpack(_ANSWER)
        messages, size_bytes, limit_bytes, age_us = numbers
        host = read_text(cursor)
        cursor.expect_end()
        return LagAnswer(
            pubend=pubend,
            host=host,
            serial=Serial(life, number),
            messages=messages,
            size_bytes=size_bytes,
            limit_bytes=limit_bytes,
            age_us=age_us,
            is_upper_bound=decode_flag("upper bound", is_upper_bound),
        )
