"""NACK, FILTER, FILTER_ACK and READER on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import (
    PAIR_BYTES,
    read_predicate,
    read_ranges,
    read_reader,
    size_reader,
    write_pairs,
    write_predicate,
    write_reader,
)
from penstock.wire.codec.reader import U32, Reader, decode_flag
from penstock.wire.frames.guaranteed.base import (
    NACK_RANGES_MAX,
    NAME_BYTES_MAX,
    PREDICATE_BYTES_MAX,
)
from penstock.wire.frames.guaranteed.requests import (
    FilterAck,
    FilterRequest,
    Nack,
    ReaderRequest,
)

_READER_BYTES_MAX: Final = 1 + NAME_BYTES_MAX + U32.size
_NACK: Final = Struct(">QB")
_FILTER: Final = Struct(">QQ")
_FILTER_ACK: Final = Struct(">QQQ")
_READER: Final = Struct(">QB")


class NackCodec:
    """NACK: requests ticks.

    +--------+--------+--------------+----------+
    | pubend | ranges | ranges       | [reader] |
    +--------+--------+--------------+----------+
      8        1        ranges x 16    1 or more
    """

    BYTES_MAX: Final = BODY_OFFSET + _NACK.size + NACK_RANGES_MAX * PAIR_BYTES + _READER_BYTES_MAX

    @staticmethod
    def size(frame: Nack) -> int:
        """The size of the body in bytes."""
        return _NACK.size + PAIR_BYTES * len(frame.ranges) + size_reader(frame.reader)

    @staticmethod
    def write(frame: Nack) -> bytes:
        """Encodes the body."""
        head = _NACK.pack(frame.pubend, len(frame.ranges))
        return b"".join((head, write_pairs(frame.ranges), write_reader(frame.reader)))

    @staticmethod
    def read(data: bytes) -> Nack:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, count = cursor.unpack(_NACK)
        ranges = read_ranges(cursor, count)
        reader = read_reader(cursor)
        cursor.expect_end()
        return Nack(pubend=pubend, ranges=ranges, reader=reader)


class FilterCodec:
    """FILTER: what the sender wants from now on.

    +--------+-------+-----------+
    | pubend | epoch | predicate |
    +--------+-------+-----------+
      8        8       see codec/filter.py
    """

    BYTES_MAX: Final = BODY_OFFSET + _FILTER.size + PREDICATE_BYTES_MAX

    @staticmethod
    def size(frame: FilterRequest) -> int:
        """The size of the body in bytes."""
        return _FILTER.size + len(write_predicate(frame.predicate))

    @staticmethod
    def write(frame: FilterRequest) -> bytes:
        """Encodes the body."""
        return _FILTER.pack(frame.pubend, frame.epoch) + write_predicate(frame.predicate)

    @staticmethod
    def read(data: bytes) -> FilterRequest:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, epoch = cursor.unpack(_FILTER)
        predicate = read_predicate(cursor)
        cursor.expect_end()
        return FilterRequest(pubend=pubend, epoch=epoch, predicate=predicate)


class FilterAckCodec:
    """FILTER_ACK: the filter of that epoch is in use.

    +--------+-------+------+
    | pubend | epoch | tick |
    +--------+-------+------+
      8        8       8
    """

    BYTES_MAX: Final = BODY_OFFSET + _FILTER_ACK.size

    @staticmethod
    def size(_frame: FilterAck) -> int:
        """The size of the body in bytes."""
        return _FILTER_ACK.size

    @staticmethod
    def write(frame: FilterAck) -> bytes:
        """Encodes the body."""
        return _FILTER_ACK.pack(frame.pubend, frame.epoch, frame.tick)

    @staticmethod
    def read(data: bytes) -> FilterAck:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, epoch, tick = cursor.unpack(_FILTER_ACK)
        cursor.expect_end()
        return FilterAck(pubend=pubend, epoch=epoch, tick=tick)


class ReaderCodec:
    """READER: registers a reader, or closes it.

    +--------+------+-----------+-------------+
    | pubend | open | reader    | [predicate] |
    +--------+------+-----------+-------------+
      8        1      6 or more   if open; see codec/filter.py
    """

    BYTES_MAX: Final = BODY_OFFSET + _READER.size + _READER_BYTES_MAX + PREDICATE_BYTES_MAX

    @staticmethod
    def size(frame: ReaderRequest) -> int:
        """The size of the body in bytes."""
        head_bytes = _READER.size + size_reader(frame.reader)
        if frame.predicate is None:
            return head_bytes
        return head_bytes + len(write_predicate(frame.predicate))

    @staticmethod
    def write(frame: ReaderRequest) -> bytes:
        """Encodes the body."""
        predicate = frame.predicate
        return b"".join(
            (
                _READER.pack(frame.pubend, predicate is not None),
                write_reader(frame.reader),
                b"" if predicate is None else write_predicate(predicate),
            )
        )

    @staticmethod
    def read(data: bytes) -> ReaderRequest:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, is_open = cursor.unpack(_READER)
        reader = read_reader(cursor)
        if reader is None:
            raise PeerError("no reader is named")
        predicate = read_predicate(cursor) if decode_flag("open", is_open) else None
        cursor.expect_end()
        return ReaderRequest(pubend=pubend, reader=reader, predicate=predicate)
