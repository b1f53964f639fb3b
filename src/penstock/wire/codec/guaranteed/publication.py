"""PUBLISH and CONFIRM on the wire: both are written and read for every message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct, pack, unpack_from
from typing import Final

from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import text_at
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
# Takes two thirds as long as `Stored(...)`.
_stored: Final[Callable[[tuple[int, int, bool]], Stored]] = partial(tuple.__new__, Stored)


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
        end = _PUBLISH_END + stream_bytes
        return Publish(stream=text_at(data, _PUBLISH_END, end), id=publication, body=data[end:])


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
        columns_start = _CONFIRM_END + stream_bytes
        stream = text_at(data, _CONFIRM_END, columns_start)
        columns = unpack_from(f">{3 * count}Q", data, columns_start)
        duplicates = data[columns_start + 3 * 8 * count :]
        if len(duplicates) != count:
            raise PeerError(f"{len(duplicates)} bytes say what {count} publications are")
        # Nothing is left unless some byte is neither 0 nor 1.
        if duplicates.strip(b"\0\1"):
            raise PeerError("duplicate must be 0 or 1")
        rows = zip(
            columns[count : 2 * count], columns[2 * count :], map(bool, duplicates), strict=True
        )
        return Confirm(stream=stream, ids=columns[:count], stored=tuple(map(_stored, rows)))
