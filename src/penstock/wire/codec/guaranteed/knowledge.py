"""DATA, SILENCE, GAP and HORIZON on the wire. DATA is written and read for every message."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import read_reader, size_reader, text_at, write_reader
from penstock.wire.codec.reader import U32, Reader, decode_enum
from penstock.wire.frames.guaranteed.base import (
    MESSAGE_BYTES_MAX,
    NAME_BYTES_MAX,
    GapReason,
    ReaderId,
)
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence

_READER_BYTES_MAX: Final = 1 + NAME_BYTES_MAX + U32.size
# With the length byte of the reader, which is 0 in most frames.
_DATA: Final = Struct(">QQQQB")
_DATA_END: Final = BODY_OFFSET + _DATA.size
_SILENCE: Final = Struct(">QQQ")
_GAP: Final = Struct(">QQQQB")
_HORIZON: Final = Struct(">QQ")


class DataCodec:
    """DATA: a message, and silence before it.

    +--------+-------+------+--------------+----------+---------------+
    | pubend | start | tick | published_ns | [reader] | body, up to   |
    +--------+-------+------+--------------+----------+ the end ...   |
      8        8       8      8              1 or more
    """

    BYTES_MAX: Final = _DATA_END - 1 + _READER_BYTES_MAX + MESSAGE_BYTES_MAX

    @staticmethod
    def size(frame: Data) -> int:
        """The size of the body in bytes."""
        if frame.reader is None:
            return _DATA.size + len(frame.body)
        return _DATA.size - 1 + size_reader(frame.reader) + len(frame.body)

    @staticmethod
    def write(frame: Data) -> bytes:
        """Encodes the body."""
        reader = frame.reader
        if reader is None:
            head = _DATA.pack(frame.pubend, frame.start, frame.tick, frame.published_ns, 0)
            return head + frame.body
        host = reader.host.encode()
        head = _DATA.pack(frame.pubend, frame.start, frame.tick, frame.published_ns, len(host))
        return b"".join((head, host, U32.pack(reader.number), frame.body))

    @staticmethod
    def read(data: bytes) -> Data:
        """Decodes a whole frame."""
        pubend, start, tick, published_ns, host_bytes = _DATA.unpack_from(data, BODY_OFFSET)
        if not host_bytes:
            return Data(
                pubend=pubend,
                start=start,
                tick=tick,
                published_ns=published_ns,
                body=data[_DATA_END:],
            )
        host_end = _DATA_END + host_bytes
        host = text_at(data, _DATA_END, host_end)
        (number,) = U32.unpack_from(data, host_end)
        return Data(
            pubend=pubend,
            start=start,
            tick=tick,
            published_ns=published_ns,
            body=data[host_end + U32.size :],
            reader=ReaderId(host, number),
        )


class SilenceCodec:
    """SILENCE: nothing was published.

    +--------+-------+------+----------+
    | pubend | start | stop | [reader] |
    +--------+-------+------+----------+
      8        8       8      1 or more
    """

    BYTES_MAX: Final = BODY_OFFSET + _SILENCE.size + _READER_BYTES_MAX

    @staticmethod
    def size(frame: Silence) -> int:
        """The size of the body in bytes."""
        return _SILENCE.size + size_reader(frame.reader)

    @staticmethod
    def write(frame: Silence) -> bytes:
        """Encodes the body."""
        return _SILENCE.pack(frame.pubend, frame.start, frame.stop) + write_reader(frame.reader)

    @staticmethod
    def read(data: bytes) -> Silence:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, start, stop = cursor.unpack(_SILENCE)
        reader = read_reader(cursor)
        cursor.expect_end()
        return Silence(pubend=pubend, start=start, stop=stop, reader=reader)


class GapCodec:
    """GAP: messages are gone.

    +--------+-------+------+----------+--------+----------+
    | pubend | start | stop | messages | reason | [reader] |
    +--------+-------+------+----------+--------+----------+
      8        8       8      8          1        1 or more
    """

    BYTES_MAX: Final = BODY_OFFSET + _GAP.size + _READER_BYTES_MAX

    @staticmethod
    def size(frame: Gap) -> int:
        """The size of the body in bytes."""
        return _GAP.size + size_reader(frame.reader)

    @staticmethod
    def write(frame: Gap) -> bytes:
        """Encodes the body."""
        head = _GAP.pack(frame.pubend, frame.start, frame.stop, frame.messages, frame.reason)
        return head + write_reader(frame.reader)

    @staticmethod
    def read(data: bytes) -> Gap:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, start, stop, messages, reason = cursor.unpack(_GAP)
        reader = read_reader(cursor)
        cursor.expect_end()
        return Gap(
            pubend=pubend,
            start=start,
            stop=stop,
            reason=decode_enum(GapReason, reason),
            messages=messages,
            reader=reader,
        )


class HorizonCodec:
    """HORIZON: all before `stop` is decided.

    +--------+------+
    | pubend | stop |
    +--------+------+
      8        8
    """

    BYTES_MAX: Final = BODY_OFFSET + _HORIZON.size

    @staticmethod
    def size(_frame: Horizon) -> int:
        """The size of the body in bytes."""
        return _HORIZON.size

    @staticmethod
    def write(frame: Horizon) -> bytes:
        """Encodes the body."""
        return _HORIZON.pack(frame.pubend, frame.stop)

    @staticmethod
    def read(data: bytes) -> Horizon:
        """Decodes a whole frame."""
        cursor = Reader(data)
        pubend, stop = cursor.unpack(_HORIZON)
        cursor.expect_end()
        return Horizon(pubend=pubend, stop=stop)
