"""HOLD, HELD and ACK on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import read_text, size_text, write_text
from penstock.wire.codec.reader import Reader, decode_enum, decode_flag
from penstock.wire.frames.guaranteed.base import (
    ACK_ENTRIES_MAX,
    NAME_BYTES_MAX,
    Serial,
    Start,
    StartKind,
)
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck

_NAME_FIELD_BYTES_MAX: Final = 1 + NAME_BYTES_MAX
_HOLD: Final = Struct(">QQIBQB")
_HELD: Final = Struct(">QQIQ")
_ACK: Final = Struct(">QB")
_ENTRY: Final = Struct(">QIQ")


class HoldCodec:
    """HOLD: where does a subscription begin?

        +--------+------+--------+------+-------+------+-------+------+-------+---------+
        | pubend | life | number | kind | value | keep | bytes | host | bytes | durable |
        +--------+------+--------+------+-------+------+-------+------+-------+---------+
          8        8      4        1      8       1      1       bytes  1       bytes

    Life and number are the serial, kind and value the start.
    """

    BYTES_MAX: Final = BODY_OFFSET + _HOLD.size + 2 * _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: Hold) -> int:
        """The size of the body in bytes."""
        return _HOLD.size + size_text(frame.host) + size_text(frame.durable)

    @staticmethod
    def write(frame: Hold) -> bytes:
        """Encodes the body."""
        head = _HOLD.pack(frame.pubend, *frame.serial, *frame.start, frame.keep)
        return b"".join((head, write_text(frame.host), write_text(frame.durable)))

    @staticmethod
    def read(data: bytes) -> Hold:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, life, number, kind, value, keep = cursor.unpack(_HOLD)
        host = read_text(cursor)
        durable = read_text(cursor)
        cursor.expect_end()
        return Hold(
            pubend=pubend,
            host=host,
            serial=Serial(life, number),
            durable=durable,
            start=Start(decode_enum(StartKind, kind), value),
            keep=decode_flag("keep", keep),
        )


class HeldCodec:
    """HELD: the answer to HOLD.

    +--------+------+--------+------+-------+------+-------+------------+
    | pubend | life | number | tick | bytes | host | bytes | other host |
    +--------+------+--------+------+-------+------+-------+------------+
      8        8      4        8      1       bytes  1       bytes
    """

    BYTES_MAX: Final = BODY_OFFSET + _HELD.size + 2 * _NAME_FIELD_BYTES_MAX

    @staticmethod
    def size(frame: Held) -> int:
        """The size of the body in bytes."""
        return _HELD.size + size_text(frame.host) + size_text(frame.other_host)

    @staticmethod
    def write(frame: Held) -> bytes:
        """Encodes the body."""
        head = _HELD.pack(frame.pubend, *frame.serial, frame.tick)
        return b"".join((head, write_text(frame.host), write_text(frame.other_host)))

    @staticmethod
    def read(data: bytes) -> Held:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, life, number, tick = cursor.unpack(_HELD)
        host = read_text(cursor)
        other_host = read_text(cursor)
        cursor.expect_end()
        return Held(
            pubend=pubend, host=host, serial=Serial(life, number), tick=tick, other_host=other_host
        )


class AckCodec:
    """ACK: how far hosts have read.

    +--------+---------+            +------+--------+------+-------+------+
    | pubend | entries |  each      | life | number | tick | bytes | host |
    +--------+---------+  entry:    +------+--------+------+-------+------+
      8        1                      8      4        8      1       bytes
    """

    BYTES_MAX: Final = (
        BODY_OFFSET + _ACK.size + ACK_ENTRIES_MAX * (_ENTRY.size + _NAME_FIELD_BYTES_MAX)
    )

    @staticmethod
    def size(frame: Ack) -> int:
        """The size of the body in bytes."""
        return _ACK.size + sum([_ENTRY.size + size_text(entry.host) for entry in frame.entries])

    @staticmethod
    def write(frame: Ack) -> bytes:
        """Encodes the body."""
        parts = [_ACK.pack(frame.pubend, len(frame.entries))]
        for host, serial, tick in frame.entries:
            parts += (_ENTRY.pack(*serial, tick), write_text(host))
        return b"".join(parts)

    @staticmethod
    def read(data: bytes) -> Ack:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, count = cursor.unpack(_ACK)
        entries = tuple([_read_entry(cursor) for _ in range(count)])
        cursor.expect_end()
        return Ack(pubend=pubend, entries=entries)


def _read_entry(cursor: Reader) -> HostAck:
    life, number, tick = cursor.unpack(_ENTRY)
    return HostAck(read_text(cursor), Serial(life, number), tick)
