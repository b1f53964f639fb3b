"""PUBLISH and CONFIRM on the wire: both are written and read for every message."""

from __future__ import annotations

from struct import Struct, pack, unpack_from
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.guaranteed.base import (
    CONFIRM_ENTRIES_MAX,
    MESSAGE_BYTES_MAX,
    NAME_BYTES_MAX,
    text_bytes,
)
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, Stored

_PUBLISH: Final = Struct(">QB")
_PUBLISH_END: Final = BODY_OFFSET + _PUBLISH.size
_CONFIRM: Final = Struct(">HB")
_CONFIRM_END: Final = BODY_OFFSET + _CONFIRM.size
_STORED_BYTES: Final = 3 * 8 + 1


class PublishCodec:
    """PUBLISH: one message for a stream.

    +----+-------+--------+-------------------------+
    | id | bytes | stream | body, up to the end ... |
    +----+-------+--------+-------------------------+
      8    1       bytes
    """

    BYTES_MAX: Final = _PUBLISH_END + NAME_BYTES_MAX + MESSAGE_BYTES_MAX

    @staticmethod
    def size(frame: Publish) -> int:
        """The size of the body in bytes."""
        return _PUBLISH.size + text_bytes(frame.stream) + len(frame.body)

    @staticmethod
    def write(frame: Publish) -> bytes:
        """Encodes the body."""
        stream = frame.stream.encode()
        return b"".join((_PUBLISH.pack(frame.id, len(stream)), stream, frame.body))

    @staticmethod
    def read(data: bytes) -> Publish:
        """Decodes a whole frame."""
        publication, stream_bytes = _PUBLISH.unpack_from(data, BODY_OFFSET)
        cursor = Reader(data, _PUBLISH_END)
        stream = cursor.read_text(stream_bytes)
        return Publish(stream=stream, id=publication, body=data[cursor.position :])


class ConfirmCodec:
    """CONFIRM: publications are on disk. Its columns are packed and unpacked in one call.

    +-------+-------+--------+-----------+-----------+-----------+------------+
    | count | bytes | stream | ids       | pubends   | ticks     | duplicates |
    +-------+-------+--------+-----------+-----------+-----------+------------+
      2       1       bytes    count x 8   count x 8   count x 8   count x 1
    """

    BYTES_MAX: Final = _CONFIRM_END + NAME_BYTES_MAX + CONFIRM_ENTRIES_MAX * _STORED_BYTES

    @staticmethod
    def size(frame: Confirm) -> int:
        """The size of the body in bytes."""
        return _CONFIRM.size + text_bytes(frame.stream) + _STORED_BYTES * len(frame.ids)

    @staticmethod
    def write(frame: Confirm) -> bytes:
        """Encodes the body."""
        stream, count = frame.stream.encode(), len(frame.ids)
        head = _CONFIRM.pack(count, len(stream)) + stream
        if not count:
            return head
        pubends, ticks, duplicates = zip(*frame.stored, strict=True)
        columns = pack(f">{3 * count}Q{count}?", *frame.ids, *pubends, *ticks, *duplicates)
        return head + columns

    @staticmethod
    def read(data: bytes) -> Confirm:
        """Decodes a whole frame."""
        count, stream_bytes = _CONFIRM.unpack_from(data, BODY_OFFSET)
        cursor = Reader(data, _CONFIRM_END)
        stream = cursor.read_text(stream_bytes)
        columns = unpack_from(f">{3 * count}Q", data, cursor.position)
        cursor.position += 3 * 8 * count
        duplicates = cursor.read_bytes(count)
        cursor.expect_end()
        # Every byte is 0 or 1.
        if duplicates.strip(b"\0\1"):
            raise PeerError("duplicate must be 0 or 1")
        stored = map(
            Stored, columns[count : 2 * count], columns[2 * count :], map(bool, duplicates)
        )
        return Confirm(stream=stream, ids=columns[:count], stored=tuple(stored))
