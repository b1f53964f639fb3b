"""PUBLISH and CONFIRM on the wire. Columns are packed and unpacked in one call."""

from __future__ import annotations

from struct import Struct, pack, unpack_from
from typing import Final

from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.codec.guaranteed.fields import bodies_at, text_at
from penstock.wire.codec.reader import Reader, decode_flag
from penstock.wire.frames.guaranteed.base import (
    CONFIRM_ENTRIES_MAX,
    MESSAGE_BYTES_MAX,
    MESSAGES_MAX,
    NAME_BYTES_MAX,
)
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, StoredRun
from penstock.wire.frames.texts import text_bytes

_HEAD: Final = Struct(">HB")
_HEAD_END: Final = BODY_OFFSET + _HEAD.size
# Of a message in PUBLISH: its id and its size.
_ENTRY_BYTES: Final = 8 + 4
_RUN: Final = Struct(">QHQQB")


class PublishCodec:
    """PUBLISH: messages for a stream.

    +-------+-------+--------+-----------+-----------+------------+
    | count | bytes | stream | ids       | sizes     | bodies ... |
    +-------+-------+--------+-----------+-----------+------------+
      2       1       bytes    count x 8   count x 4
    """

    BYTES_MAX: Final = _HEAD_END + NAME_BYTES_MAX + MESSAGES_MAX * _ENTRY_BYTES + MESSAGE_BYTES_MAX

    @staticmethod
    def size(frame: Publish) -> int:
        """The size of the body in bytes."""
        bodies = frame.bodies
        entries = len(bodies) * _ENTRY_BYTES + sum(map(len, bodies))
        return _HEAD.size + text_bytes(frame.stream) + entries

    @staticmethod
    def write(frame: Publish) -> bytes:
        """Encodes the body."""
        stream, bodies = frame.stream.encode(), frame.bodies
        count = len(bodies)
        columns = pack(f">{count}Q{count}I", *frame.ids, *map(len, bodies))
        return b"".join((_HEAD.pack(count, len(stream)), stream, columns, *bodies))

    @staticmethod
    def read(data: bytes) -> Publish:
        """Decodes a whole frame."""
        count, stream_bytes = _HEAD.unpack_from(data, BODY_OFFSET)
        columns_start = _HEAD_END + stream_bytes
        stream = text_at(data, _HEAD_END, columns_start)
        columns = unpack_from(f">{count}Q{count}I", data, columns_start)
        bodies = bodies_at(data, columns_start + count * _ENTRY_BYTES, columns[count:])
        return Publish(stream=stream, ids=columns[:count], bodies=bodies)


class ConfirmCodec:
    """CONFIRM: publications are on disk.

    +-------+-------+--------+     +----------+-------+--------+------------+-----------+
    | runs  | bytes | stream |     | first id | count | pubend | first tick | duplicate | ...
    +-------+-------+--------+     +----------+-------+--------+------------+-----------+
      2       1       bytes          8          2       8        8            1
    """

    BYTES_MAX: Final = _HEAD_END + NAME_BYTES_MAX + CONFIRM_ENTRIES_MAX * _RUN.size

    @staticmethod
    def size(frame: Confirm) -> int:
        """The size of the body in bytes."""
        return _HEAD.size + text_bytes(frame.stream) + _RUN.size * len(frame.runs)

    @staticmethod
    def write(frame: Confirm) -> bytes:
        """Encodes the body."""
        stream = frame.stream.encode()
        head = _HEAD.pack(len(frame.runs), len(stream)) + stream
        return head + b"".join([_RUN.pack(*run) for run in frame.runs])

    @staticmethod
    def read(data: bytes) -> Confirm:
        """Decodes a whole frame."""
        cursor = Reader(data)
        count, stream_bytes = cursor.unpack(_HEAD)
        stream = cursor.read_text(stream_bytes)
        runs = []
        for _ in range(count):
            first_id, messages, pubend, first_tick, duplicate = cursor.unpack(_RUN)
            is_duplicate = decode_flag("duplicate", duplicate)
            runs.append(StoredRun(first_id, messages, pubend, first_tick, is_duplicate))
        cursor.expect_end()
        return Confirm(stream=stream, runs=tuple(runs))
