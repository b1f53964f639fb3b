"""CONNECT, WELCOME, CREDIT, REQUEST, RESULT, REFUSED and a client's PING on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import (
    read_long_text,
    read_text,
    size_text,
    write_long_text,
    write_text,
)
from penstock.wire.codec.reader import U16, U32, U64, Reader, decode_enum
from penstock.wire.frames.guaranteed.base import (
    ADDRESS_BYTES_MAX,
    ARGUMENTS_BYTES_MAX,
    NAME_BYTES_MAX,
    RESULT_BYTES_MAX,
    TEXT_BYTES_MAX,
)
from penstock.wire.frames.guaranteed.client import (
    Answer,
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    Refused,
    RefusedKind,
    Welcome,
)
from penstock.wire.frames.texts import text_bytes

_NAME_FIELD_BYTES_MAX: Final = 1 + NAME_BYTES_MAX
_CREDIT: Final = Struct(">BIIQ")
_REFUSED: Final = Struct(">BQ")


class ConnectCodec:
    """CONNECT: the first frame of a client.

    +------+-------+-----------+
    | life | bytes | publisher |
    +------+-------+-----------+
      8      1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + U64.size + _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: Connect) -> int:
        """The size of the body in bytes."""
        return U64.size + size_text(frame.publisher)

    @staticmethod
    def write(frame: Connect) -> bytes:
        """Encodes the body."""
        return U64.pack(frame.life) + write_text(frame.publisher)

    @staticmethod
    def read(data: bytes) -> Connect:
        """Decodes a whole frame."""
        cursor = Reader(data)
        life = cursor.unpack_one(U64)
        publisher = read_text(cursor)
        cursor.expect_end()
        return Connect(publisher=publisher, life=life)


class WelcomeCodec:
    """WELCOME: the answer to CONNECT.

    +-------------------+-------+--------+
    | message_bytes_max | bytes | broker |
    +-------------------+-------+--------+
      4                   1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + U32.size + _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: Welcome) -> int:
        """The size of the body in bytes."""
        return U32.size + size_text(frame.broker)

    @staticmethod
    def write(frame: Welcome) -> bytes:
        """Encodes the body."""
        return U32.pack(frame.message_bytes_max) + write_text(frame.broker)

    @staticmethod
    def read(data: bytes) -> Welcome:
        """Decodes a whole frame."""
        cursor = Reader(data)
        message_bytes_max = cursor.unpack_one(U32)
        broker = read_text(cursor)
        cursor.expect_end()
        return Welcome(broker=broker, message_bytes_max=message_bytes_max)


class CreditCodec:
    """CREDIT: so much more may be sent.

    +------+--------+----------+------------+
    | kind | number | messages | size_bytes |
    +------+--------+----------+------------+
      1      4        4          8
    """

    BYTES_MAX: Final = BODY_OFFSET + _CREDIT.size

    @staticmethod
    def size(_frame: Credit) -> int:
        """The size of the body in bytes."""
        return _CREDIT.size

    @staticmethod
    def write(frame: Credit) -> bytes:
        """Encodes the body."""
        return _CREDIT.pack(frame.kind, frame.number, frame.messages, frame.size_bytes)

    @staticmethod
    def read(data: bytes) -> Credit:
        """Decodes a whole frame."""
        cursor = Reader(data)
        kind, number, messages, size_bytes = cursor.unpack(_CREDIT)
        cursor.expect_end()
        return Credit(
            kind=decode_enum(CreditKind, kind),
            number=number,
            messages=messages,
            size_bytes=size_bytes,
        )


class AskCodec:
    """REQUEST: a rare verb.

    +--------+-------+------+------------------------------+
    | number | bytes | verb | arguments, up to the end ... |
    +--------+-------+------+------------------------------+
      4        1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + U32.size + _NAME_FIELD_BYTES_MAX + ARGUMENTS_BYTES_MAX

    @staticmethod
    def size(frame: Ask) -> int:
        """The size of the body in bytes."""
        return U32.size + size_text(frame.verb) + len(frame.arguments)

    @staticmethod
    def write(frame: Ask) -> bytes:
        """Encodes the body."""
        return b"".join((U32.pack(frame.number), write_text(frame.verb), frame.arguments))

    @staticmethod
    def read(data: bytes) -> Ask:
        """Decodes a whole frame."""
        cursor = Reader(data)
        number = cursor.unpack_one(U32)
        verb = read_text(cursor)
        return Ask(number=number, verb=verb, arguments=data[cursor.position :])


class AnswerCodec:
    """RESULT: the answer to a REQUEST.

    +--------+---------------------------+
    | number | result, up to the end ... |
    +--------+---------------------------+
      4
    """

    BYTES_MAX: Final = BODY_OFFSET + U32.size + RESULT_BYTES_MAX

    @staticmethod
    def size(frame: Answer) -> int:
        """The size of the body in bytes."""
        return U32.size + len(frame.result)

    @staticmethod
    def write(frame: Answer) -> bytes:
        """Encodes the body."""
        return U32.pack(frame.number) + frame.result

    @staticmethod
    def read(data: bytes) -> Answer:
        """Decodes a whole frame."""
        cursor = Reader(data)
        number = cursor.unpack_one(U32)
        return Answer(number=number, result=data[cursor.position :])


class RefusedCodec:
    """REFUSED: no, why, and where else.

    +------+--------+-------+--------+-------+------+-------+---------+
    | kind | number | bytes | reason | bytes | text | bytes | address |
    +------+--------+-------+--------+-------+------+-------+---------+
      1      8        1       bytes    2       bytes  1       bytes
    """

    BYTES_MAX: Final = (
        BODY_OFFSET
        + _REFUSED.size
        + _NAME_FIELD_BYTES_MAX
        + U16.size
        + TEXT_BYTES_MAX
        + 1
        + ADDRESS_BYTES_MAX
    )

    @staticmethod
    def size(frame: Refused) -> int:
        """The size of the body in bytes."""
        text_field_bytes = U16.size + text_bytes(frame.text)
        return _REFUSED.size + size_text(frame.reason) + text_field_bytes + size_text(frame.address)

    @staticmethod
    def write(frame: Refused) -> bytes:
        """Encodes the body."""
        return b"".join(
            (
                _REFUSED.pack(frame.kind, frame.number),
                write_text(frame.reason),
                write_long_text(frame.text),
                write_text(frame.address),
            )
        )

    @staticmethod
    def read(data: bytes) -> Refused:
        """Decodes a whole frame."""
        cursor = Reader(data)
        kind, number = cursor.unpack(_REFUSED)
        reason = read_text(cursor)
        text = read_long_text(cursor)
        address = read_text(cursor)
        cursor.expect_end()
        return Refused(
            kind=decode_enum(RefusedKind, kind),
            number=number,
            reason=reason,
            text=text,
            address=address,
        )


class ClientPingCodec:
    """PING has no body."""

    BYTES_MAX: Final = BODY_OFFSET

    @staticmethod
    def size(_frame: ClientPing) -> int:
        """The size of the body in bytes."""
        return 0

    @staticmethod
    def write(_frame: ClientPing) -> bytes:
        """Encodes the body."""
        return b""

    @staticmethod
    def read(data: bytes) -> ClientPing:
        """Decodes a whole frame."""
        Reader(data).expect_end()
        return ClientPing()
